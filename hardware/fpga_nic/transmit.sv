// SPDX-License-Identifier: Apache-2.0
//
// Makes frames from orders. A result for many receivers is ordered once for each; the order to release it frees it.
module transmit (
    input  wire          clk,
    input  wire          rst,
    input  wire  [ 47:0] own_mac,
    input  wire  [ 31:0] own_ip,
    input  wire  [ 15:0] own_port,

    // From bit 0: 22 bytes of header, IP, port and MAC of the receiver, 6 bytes of payload, 1 bit: the payload is the
    // oldest result instead, 1 bit: no frame, the oldest result is released.
    input  wire          order_put,
    input  wire  [321:0] order,
    output wire          order_full,

    output logic [  1:0] result,
    output wire  [  3:0] result_beat,
    input  wire  [511:0] result_data,
    input  wire          result_valid,
    input  wire  [ 24:0] result_sum,
    output wire          sum_taken,
    output wire          result_freed,

    output logic [511:0] m_axis_tdata,
    output logic [ 63:0] m_axis_tkeep,
    output logic         m_axis_tvalid,
    input  wire          m_axis_tready,
    output logic         m_axis_tlast,

    output logic         sent,          // a frame
    output wire          idle
);

  function automatic [15:0] word(input [15:0] number);
    word = {number[7:0], number[15:8]};
  endfunction
  function automatic [31:0] two_words(input [31:0] number);
    two_words = {word(number[15:0]), word(number[31:16])};
  endfunction
  function automatic [47:0] three_words(input [47:0] number);
    three_words = {word(number[15:0]), word(number[31:16]), word(number[47:32])};
  endfunction
  // Adds the carries of a sum of words, twice, because the first addition may carry.
  function automatic [15:0] folded(input [25:0] sum);
    logic [16:0] once;
    begin
      once = {1'b0, sum[15:0]} + {7'd0, sum[25:16]};
      folded = once[15:0] + {15'd0, once[16]};
    end
  endfunction

  wire valid, takes;
  wire is_release, has_result;
  wire [47:0] payload, mac;
  wire [15:0] port;
  wire [31:0] ip;
  wire [175:0] head;
  wire [6:0] orders_waiting;
  fifo #(
      .WIDTH(322),
      .DEPTH_BITS(6)
  ) orders (
      .clk(clk),
      .rst(rst),
      .put(order_put),
      .back(order),
      .full(order_full),
      .valid(valid),
      .front({is_release, has_result, payload, mac, port, ip, head}),
      .take(takes),
      .count(orders_waiting)
  );

  // 0: the first beat, without checksums.
  wire [3:0] frames_waiting;
  wire [10:0] length = head[138:128];
  wire [15:0] udp_length = {5'd0, length} + 16'd30;
  wire [15:0] total_length = {5'd0, length} + 16'd50;
  assign takes = valid && (result_valid || !(is_release || has_result)) && frames_waiting <= 4'd3;
  assign sum_taken = takes && is_release;
  wire [63:0] addresses = {two_words(ip), two_words(own_ip)};
  wire [511:0] beat0 = {
    head,
    16'd0, word(udp_length), word(port), word(own_port),
    addresses, 16'd0, 8'd17, 8'd64, word(16'h4000), 16'd0, word(total_length), 8'h02, 8'h45,
    word(16'h0800), three_words(own_mac), three_words(mac)
  };
  wire [25:0] payload_sum = has_result ? {1'b0, result_sum}
      : {10'd0, word(payload[15:0])} + {10'd0, word(payload[31:16])} + {10'd0, word(payload[47:32])};

  // 1, 2: sums. 3: checksums.
  wire [20:0] ip_sum2, udp_sum2;
  beat_sum ip_adder (
      .clk(clk),
      .data({240'd0, beat0[271:112], 112'd0}),
      .sum(ip_sum2)
  );
  beat_sum udp_adder (
      .clk(clk),
      .data({beat0[511:208], 208'd0}),
      .sum(udp_sum2)
  );
  logic valid1, valid2, valid3;
  logic [60:0] rest1, rest2, rest3;  // release, has a result, length, payload
  logic [511:0] beat1, beat2, beat3;
  logic [25:0] more1, more2;
  wire [15:0] ip_sum = ~folded({5'd0, ip_sum2});
  wire [15:0] udp_sum = ~folded({5'd0, udp_sum2} + more2);
  always_ff @(posedge clk) begin
    valid1 <= takes && !rst;
    rest1 <= {is_release, has_result, length, payload};
    beat1 <= beat0;
    more1 <= payload_sum + {10'd0, udp_length} + 26'd17;
    valid2 <= valid1 && !rst;
    rest2 <= rest1;
    beat2 <= beat1;
    more2 <= more1;
    valid3 <= valid2 && !rst;
    rest3 <= rest2;
    beat3 <= beat2;
    beat3[207:192] <= word(ip_sum);
    beat3[335:320] <= udp_sum == 16'd0 ? 16'hffff : word(udp_sum);
  end

  wire frame_valid, frame_taken, frames_full;
  wire releases, frame_has_result;
  wire [10:0] frame_length;
  wire [47:0] frame_payload;
  wire [511:0] first_beat;
  fifo #(
      .WIDTH(573),
      .DEPTH_BITS(3)
  ) frames (
      .clk(clk),
      .rst(rst),
      .put(valid3),
      .back({rest3, beat3}),
      .full(frames_full),
      .valid(frame_valid),
      .front({releases, frame_has_result, frame_length, frame_payload, first_beat}),
      .take(frame_taken),
      .count(frames_waiting)
  );

  // Out.
  logic [4:0] beat;  // the next beat; 0 is the first one, of headers
  wire [4:0] beats = frame_length[10:6] + {4'd0, frame_length[5:0] != 6'd0};
  wire [4:0] payload_beat = beat - 5'd1;
  wire is_last = beat == beats;
  wire moves = frame_valid && !releases && (!m_axis_tvalid || m_axis_tready);
  assign result_beat = payload_beat[3:0];
  assign result_freed = frame_valid && releases;
  assign frame_taken = result_freed || (moves && is_last);
  always_ff @(posedge clk) begin
    sent <= 1'b0;
    if (m_axis_tready) m_axis_tvalid <= 1'b0;
    if (moves) begin
      m_axis_tvalid <= 1'b1;
      m_axis_tlast <= is_last;
      sent <= is_last;
      m_axis_tdata <= beat == 5'd0 ? first_beat : frame_has_result ? result_data : {464'd0, frame_payload};
      m_axis_tkeep <= beat != 5'd0 && is_last && frame_length[5:0] != 6'd0 ? ~({64{1'b1}} << frame_length[5:0])
                                                                            : {64{1'b1}};
      beat <= is_last ? 5'd0 : beat + 5'd1;
    end
    if (result_freed) result <= result + 2'd1;
    if (rst) begin
      m_axis_tvalid <= 1'b0;
      beat <= 5'd0;
      result <= 2'd0;
      sent <= 1'b0;
    end
  end

  assign idle = !(valid || valid1 || valid2 || valid3 || frame_valid || m_axis_tvalid || sent);

  wire unused = &{1'b0, orders_waiting, frames_full, payload_beat};

endmodule
