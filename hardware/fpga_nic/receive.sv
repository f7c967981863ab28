// SPDX-License-Identifier: Apache-2.0
//
// Parses frames. A frame is held until all of it has arrived and its addresses, lengths and checksums are verified; a
// bad one leaves no trace. Headers of packets wait in a queue, and payloads in a ring of beats, from which the reader
// takes the beats that the length implies.
module receive #(
    parameter RING_BITS = 9,
    parameter DROP_WHEN_FULL = 1,
    parameter PACKET_BITS = 369
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 enabled,
    input  wire  [        47:0] own_mac,
    input  wire  [        31:0] own_ip,
    input  wire  [        15:0] own_port,
    input  wire  [        47:0] now,

    input  wire  [       511:0] s_axis_tdata,
    input  wire  [        63:0] s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tuser,
    output logic                overflow,

    output wire                 ring_write,
    output wire  [RING_BITS-1:0] ring_write_at,
    output wire  [       511:0] ring_write_data,
    input  wire  [  RING_BITS:0] ring_taken,      // beats that the reader has taken, modulo twice the size

    // Header of 22 bytes, congested, MAC, IP and port of the sender, time, and the first 6 bytes of the payload; where
    // there are weights, the 16 bytes behind the first 1024 of it, too.
    output wire                 packet_valid,
    output wire  [PACKET_BITS-1:0] packet,
    input  wire                 packet_take,

    // 0 frame, 1 bad, 2 no room, 3 foreign, 4 IPv4, 5 UDP checksum, 6 packet, 7 malformed, 8 tagged, 9 congested
    output logic [         9:0] events,
    output wire                 idle
);

  // Beats that may still arrive when a frame is admitted: 17 of its own, as many of the previous one, and some in
  // stages.
  localparam ROOM = 40;

  function automatic [6:0] count_of(input [63:0] keep);
    integer i;
    begin
      count_of = 7'd0;
      for (i = 0; i < 64; i = i + 1) count_of = count_of + {6'd0, keep[i]};
    end
  endfunction
  // Masks the first `count` bytes.
  function automatic [63:0] first_bytes(input [15:0] count);
    first_bytes = count >= 16'd64 ? {64{1'b1}} : ~({64{1'b1}} << count[5:0]);
  endfunction

  // 0: input.
  logic in_frame, has_room, was_dropped;
  wire accepts = s_axis_tvalid && s_axis_tready;
  wire drops = in_frame ? was_dropped : !has_room;
  assign s_axis_tready = DROP_WHEN_FULL != 0 || in_frame || has_room;

  logic valid1, first1, last1, bad1, dropped1;
  logic [47:0] time1;
  logic [511:0] data1;
  logic [63:0] keep1;
  always_ff @(posedge clk) begin
    valid1 <= accepts && !rst;
    overflow <= accepts && s_axis_tlast && drops && !rst;
    first1 <= !in_frame;
    last1 <= s_axis_tlast;
    bad1 <= s_axis_tuser;
    dropped1 <= drops;
    time1 <= now;
    data1 <= s_axis_tdata;
    keep1 <= s_axis_tkeep;
    if (rst) in_frame <= 1'b0;
    else if (accepts) in_frame <= !s_axis_tlast;
    if (accepts) was_dropped <= drops;
  end

  // 1: bytes of the beat that each checksum covers.
  logic [15:0] left1;  // bytes of the datagram in later beats
  logic [5:0] index1;  // number of the beat in its frame; 63: or later
  wire [15:0] udp_length1 = {data1[311:304], data1[319:312]};
  wire [15:0] covered1 = first1 ? udp_length1 + 16'd34 : left1;
  wire [63:0] udp_mask1 = first1 ? {{38{1'b1}}, 26'd0} : first_bytes(left1);
  wire [5:0] number1 = first1 ? 6'd0 : index1;

  function automatic [511:0] only(input [511:0] bytes, input [63:0] mask);
    integer i;
    for (i = 0; i < 64; i = i + 1) only[8*i+:8] = mask[i] ? bytes[8*i+:8] : 8'd0;
  endfunction
  wire [20:0] udp_sum3, ip_sum3;
  beat_sum udp_adder (
      .clk(clk),
      .data(only(data1, udp_mask1)),
      .sum(udp_sum3)
  );
  beat_sum ip_adder (
      .clk(clk),
      .data({240'd0, data1[271:112], 112'd0}),
      .sum(ip_sum3)
  );

  logic valid2, first2, last2, bad2, dropped2;
  logic valid3, first3, last3, bad3, dropped3;
  logic [5:0] number2, number3;
  logic [6:0] bytes2, bytes3;
  logic [47:0] time2, time3;
  logic [511:0] data2, data3;
  always_ff @(posedge clk) begin
    if (valid1) begin
      left1 <= covered1 > 16'd64 ? covered1 - 16'd64 : 16'd0;
      index1 <= number1 == 6'd63 ? number1 : number1 + 6'd1;
    end
    valid2 <= valid1 && !rst;
    first2 <= first1;
    last2 <= last1;
    bad2 <= bad1;
    dropped2 <= dropped1;
    number2 <= number1;
    bytes2 <= count_of(keep1);
    time2 <= time1;
    data2 <= data1;
    valid3 <= valid2 && !rst;
    first3 <= first2;
    last3 <= last2;
    bad3 <= bad2;
    dropped3 <= dropped2;
    number3 <= number2;
    bytes3 <= bytes2;
    time3 <= time2;
    data3 <= data2;
  end

  // 3: fields of the first beat, and running sums.
  wire [47:0] mac3;
  wire [31:0] ip3;
  wire [15:0] port3, total_length3, udp_length3;
  wire has_udp_sum3, congested3, addressed3, plain3, malformed3, tagged3;
  frame_check frame_checker (
      .data(data3),
      .enabled(enabled),
      .own_mac(own_mac),
      .own_ip(own_ip),
      .own_port(own_port),
      .mac(mac3),
      .ip(ip3),
      .port(port3),
      .total_length(total_length3),
      .udp_length(udp_length3),
      .has_udp_sum(has_udp_sum3),
      .congested(congested3),
      .addressed(addressed3),
      .plain(plain3)
  );
  packet_check packet_checker (
      .head(data3[511:336]),
      .udp_length(udp_length3),
      .malformed(malformed3),
      .has_tag(tagged3)
  );
  // A sum of words is right if it is 0xffff after its carries are added.
  function automatic is_right(input [31:0] sum);
    logic [16:0] once;
    begin
      once = {1'b0, sum[15:0]} + {1'b0, sum[31:16]};
      is_right = once[15:0] + {15'd0, once[16]} == 16'hffff;
    end
  endfunction

  logic valid4, last4, bad4, dropped4;
  logic [5:0] number4;
  logic [47:0] time4;
  logic [511:0] data4;
  logic [31:0] udp_sum4;
  logic [15:0] bytes4;
  logic [175:0] head4;
  logic [47:0] mac4;
  logic [31:0] ip4;
  logic [15:0] port4, total_length4;
  logic has_udp_sum4, congested4, addressed4, is_ip4, is_short4, malformed4, tagged4;
  wire [15:0] bytes_before = first3 ? 16'd0 : bytes4;
  always_ff @(posedge clk) begin
    valid4 <= valid3 && !rst;
    last4 <= last3;
    bad4 <= bad3;
    dropped4 <= dropped3;
    number4 <= number3;
    time4 <= time3;
    data4 <= data3;
    if (valid3) begin
      udp_sum4 <= (first3 ? {16'd0, udp_length3} + 32'd17 : udp_sum4) + {11'd0, udp_sum3};
      bytes4 <= bytes_before[15] ? bytes_before : bytes_before + {9'd0, bytes3};
      if (first3) begin
        head4 <= data3[511:336];
        mac4 <= mac3;
        ip4 <= ip3;
        port4 <= port3;
        total_length4 <= total_length3;
        has_udp_sum4 <= has_udp_sum3;
        congested4 <= congested3;
        addressed4 <= addressed3 && bytes3 >= 7'd42;
        is_ip4 <= plain3 && is_right({11'd0, ip_sum3});
        is_short4 <= udp_length3 < 16'd30;
        malformed4 <= malformed3;
        tagged4 <= tagged3;
      end
    end
  end

  // 4: the verdict, at the last beat.
  logic [47:0] start;  // first bytes of the payload, from an earlier beat
  wire [47:0] start4 = number4 == 6'd1 ? data4[47:0] : start;
  logic [127:0] behind;  // bytes that follow the elements, from an earlier beat
  wire [127:0] behind4 = number4 == 6'd17 ? data4[127:0] : behind;
  wire ends4 = valid4 && last4;
  wire is_here = ends4 && !dropped4 && !bad4 && addressed4;
  wire has_lengths = {1'b0, bytes4} >= {1'b0, total_length4} + 17'd14;
  wire is_datagram = is_here && is_ip4 && has_lengths;
  wire has_sum = is_short4 || !has_udp_sum4 || is_right(udp_sum4);
  wire is_packet = is_datagram && has_sum;
  wire is_malformed = is_short4 || malformed4;
  wire is_good = is_packet && !is_malformed && !tagged4;

  logic [RING_BITS:0] base;  // start of the current frame's payload
  wire [10:0] length4 = head4[138:128];
  wire [4:0] beats4 = length4[10:6] + {4'd0, length4[5:0] != 6'd0};
  wire [RING_BITS:0] next_base = base + {{(RING_BITS - 4) {1'b0}}, beats4};
  wire [RING_BITS-1:0] place = {{(RING_BITS - 6) {1'b0}}, number4 - 6'd1};
  assign ring_write = valid4 && !dropped4 && number4 != 6'd0 && number4 <= 6'd16;
  assign ring_write_at = base[RING_BITS-1:0] + place;
  assign ring_write_data = data4;

  wire [496:0] whole4 = {behind4, start4, time4, port4, ip4, mac4, congested4, head4};
  wire full;
  wire [6:0] waiting;
  fifo #(
      .WIDTH(PACKET_BITS),
      .DEPTH_BITS(6)
  ) packets (
      .clk(clk),
      .rst(rst),
      .put(is_good),
      .back(whole4[PACKET_BITS-1:0]),
      .full(full),
      .valid(packet_valid),
      .front(packet),
      .take(packet_take),
      .count(waiting)
  );

  wire [RING_BITS:0] used = base - ring_taken;
  always_ff @(posedge clk) begin
    if (valid4 && number4 == 6'd1) start <= data4[47:0];
    if (valid4 && number4 == 6'd17) behind <= data4[127:0];
    if (rst) base <= 0;
    else if (is_good) base <= next_base;
    // Packets in later stages and in this cycle need a place each, too.
    has_room <= !rst && waiting < 7'd48 && used <= (1 << RING_BITS) - ROOM;
    events[0] <= ends4;
    events[1] <= ends4 && !dropped4 && bad4;
    events[2] <= ends4 && dropped4;
    events[3] <= ends4 && !dropped4 && !bad4 && !addressed4;
    events[4] <= is_here && !(is_ip4 && has_lengths);
    events[5] <= is_datagram && !has_sum;
    events[6] <= is_packet;
    events[7] <= is_packet && is_malformed;
    events[8] <= is_packet && !is_short4 && tagged4;
    events[9] <= is_packet && congested4;
    if (rst) events <= 10'd0;
  end

  assign idle = !(in_frame || valid1 || valid2 || valid3 || valid4 || packet_valid || events != 10'd0);

  wire unused = &{1'b0, full, whole4};

endmodule
