// SPDX-License-Identifier: Apache-2.0
//
// Elements: the memory of all slots, 16 lanes, and results on their way out. Commands execute in order, a beat a
// cycle; a beat waits if it would read data that an earlier one has not written yet.
module vector_unit #(
    parameter INDEX_BITS = 10,  // log2 of the blocks of 1 KiB
    parameter RING_BITS = 9,
    parameter WEIGHTS = 0,
    parameter KEY_BITS = 1,     // log2 of the blocks of weights
    parameter COMMAND_BITS = 40
) (
    input  wire                       clk,
    input  wire                       rst,

    // From bit 0: 3 operation of lane.sv; 2 x is 0 nothing, 1 a block, 2 the partial result, 3 weights; 1 y is a block,
    // not the payload; the block that is read; 2 the result goes 0 nowhere, 1 to a block, 2 to the partial result; the
    // block that is written; 1 the result is handed out; 11 length in bytes. Where there are weights also 1 the result
    // goes to weights, too; the block of weights; 32 the factor. A payload is taken by exactly one command.
    input  wire                       command_put,
    input  wire  [  COMMAND_BITS-1:0] command,
    output wire                       command_full,

    // Payloads, beat by beat.
    output wire  [     RING_BITS-1:0] ring_read_at,
    input  wire  [             511:0] ring_data,       // two cycles later
    output logic [       RING_BITS:0] ring_taken,

    // Results: a ring of four, each with its sum for the checksum.
    input  wire  [               1:0] result,          // the result to read
    input  wire  [               3:0] result_beat,
    output wire  [             511:0] result_data,
    output wire                       result_valid,    // the oldest is complete
    output wire  [              24:0] result_sum,      // checksum of the oldest
    input  wire                       sum_taken,
    input  wire                       result_freed,

    output wire                       idle
);

  wire valid;
  wire [2:0] op;
  wire [1:0] x_from, to;
  wire y_is_block, emits;
  wire [INDEX_BITS-1:0] from, into;
  wire [10:0] length;
  wire takes;
  wire [4:0] waiting;
  wire [COMMAND_BITS-1:0] front;
  fifo #(
      .WIDTH(COMMAND_BITS),
      .DEPTH_BITS(4)
  ) commands (
      .clk(clk),
      .rst(rst),
      .put(command_put),
      .back(command),
      .full(command_full),
      .valid(valid),
      .front(front),
      .take(takes),
      .count(waiting)
  );
  assign {length, emits, into, to, from, y_is_block, x_from, op} = front[2*INDEX_BITS+19:0];
  wire stores;
  wire [KEY_BITS-1:0] key;
  wire [31:0] factor;
  generate
    if (WEIGHTS != 0) assign {factor, key, stores} = front[COMMAND_BITS-1:2*INDEX_BITS+20];
    else assign {factor, key, stores} = 0;
  endgenerate

  // Issue. A beat reads in the cycle in which it is issued, and has written 8 cycles later. Commands on weights have
  // 16 beats, so they never wait for each other.
  localparam STAGES = 8;
  localparam A_BLOCK = 2'd1, PARTIAL = 2'd2, SOME_WEIGHTS = 2'd3;
  logic [3:0] beat;
  logic [2:0] results;  // under way, or waiting to be read
  logic s_valid [1:STAGES];
  logic [1:0] s_to [1:STAGES];
  logic [1:0] s_x [1:STAGES];
  logic [2:0] s_op [1:STAGES];
  logic s_y_is_block [1:STAGES];
  logic s_stores [1:STAGES];
  logic [KEY_BITS-1:0] s_key [1:STAGES];
  logic [31:0] factor1, factor2;
  logic s_emits [1:STAGES];
  logic s_last [1:STAGES];
  logic [5:0] s_bytes [1:STAGES];  // in the last beat; 0: all
  logic [INDEX_BITS-1:0] s_into [1:STAGES];
  logic [3:0] s_beat [1:STAGES];

  wire reads_block = x_from == A_BLOCK || y_is_block;
  logic conflicts;
  integer i;
  always_comb begin
    conflicts = 1'b0;
    for (i = 1; i <= STAGES; i = i + 1)
      if (s_valid[i] && s_beat[i] == beat &&
          ((reads_block && s_to[i] == A_BLOCK && s_into[i] == from) || (x_from == PARTIAL && s_to[i] == PARTIAL)))
        conflicts = 1'b1;
  end
  wire [4:0] beats = length[10:6] + {4'd0, length[5:0] != 6'd0};
  wire is_discard = !y_is_block && to == 2'd0 && !emits && !stores;
  wire has_place = !emits || beat != 4'd0 || results != 3'd4;
  wire issues = valid && !is_discard && !conflicts && has_place;
  wire is_last = {1'b0, beat} + 5'd1 == beats;
  assign takes = valid && (is_discard || (issues && is_last));
  wire begins_result = issues && emits && beat == 4'd0;
  assign ring_read_at = ring_taken[RING_BITS-1:0];

  always_ff @(posedge clk) begin
    if (rst) begin
      beat <= 4'd0;
      results <= 3'd0;
      ring_taken <= 0;
    end else begin
      if (issues) beat <= is_last ? 4'd0 : beat + 4'd1;
      results <= results + {2'd0, begins_result} - {2'd0, result_freed};
      if (valid && is_discard) ring_taken <= ring_taken + {{(RING_BITS - 4) {1'b0}}, beats};
      else if (issues && !y_is_block) ring_taken <= ring_taken + 1'b1;
    end
    for (i = STAGES; i > 1; i = i - 1) begin
      s_valid[i] <= s_valid[i-1] && !rst;
      s_to[i] <= s_to[i-1];
      s_x[i] <= s_x[i-1];
      s_op[i] <= s_op[i-1];
      s_y_is_block[i] <= s_y_is_block[i-1];
      s_stores[i] <= s_stores[i-1];
      s_key[i] <= s_key[i-1];
      s_emits[i] <= s_emits[i-1];
      s_last[i] <= s_last[i-1];
      s_bytes[i] <= s_bytes[i-1];
      s_into[i] <= s_into[i-1];
      s_beat[i] <= s_beat[i-1];
    end
    s_valid[1] <= issues && !rst;
    s_to[1] <= to;
    s_x[1] <= x_from;
    s_op[1] <= op;
    s_y_is_block[1] <= y_is_block;
    s_stores[1] <= stores;
    s_key[1] <= key;
    factor1 <= factor;
    factor2 <= factor1;
    s_emits[1] <= emits;
    s_last[1] <= is_last;
    s_bytes[1] <= length[5:0];
    s_into[1] <= into;
    s_beat[1] <= beat;
  end

  // 2: operands. 3 to 7: lanes. 8: results are written.
  wire [511:0] block_data, made;
  logic [511:0] made8;
  logic [511:0] partial [0:15];
  ram #(
      .WIDTH(512),
      .DEPTH_BITS(INDEX_BITS + 4)
  ) blocks (
      .clk(clk),
      .write(s_valid[8] && s_to[8] == A_BLOCK),
      .write_at({s_into[8], s_beat[8]}),
      .write_data(made8),
      .read(1'b1),
      .read_at({from, beat}),
      .read_data(block_data)
  );
  wire [511:0] weights_data;
  generate
    if (WEIGHTS != 0) begin : has_weights
      ram #(
          .WIDTH(512),
          .DEPTH_BITS(KEY_BITS + 4)
      ) weights (
          .clk(clk),
          .write(s_valid[8] && s_stores[8]),
          .write_at({s_key[8], s_beat[8]}),
          .write_data(made8),
          .read(1'b1),
          .read_at({key, beat}),
          .read_data(weights_data)
      );
    end else assign weights_data = 512'd0;
  endgenerate
  wire [511:0] x = s_x[2] == PARTIAL ? partial[s_beat[2]]
                   : WEIGHTS != 0 && s_x[2] == SOME_WEIGHTS ? weights_data : block_data;
  wire [511:0] y = s_y_is_block[2] ? block_data : ring_data;
  genvar l;
  generate
    for (l = 0; l < 16; l = l + 1) begin : lanes
      lane #(
          .MULTIPLIES(WEIGHTS)
      ) one (
          .clk(clk),
          .op(s_op[2]),
          .op5(s_op[7]),
          .x(x[32*l+:32]),
          .y(y[32*l+:32]),
          .factor(factor2),
          .z(made[32*l+:32])
      );
    end
  endgenerate
  always_ff @(posedge clk) begin
    made8 <= made;
    if (s_valid[8] && s_to[8] == PARTIAL) partial[s_beat[8]] <= made8;
  end

  // 9: output, with zeros behind its end.
  logic [511:0] out [0:63];
  logic [511:0] out9;
  logic valid9, last9, valid10, last10, valid11, last11;
  logic [3:0] beat9;
  logic first10, first11;
  logic [1:0] into9;
  wire [63:0] mask = s_last[8] && s_bytes[8] != 6'd0 ? ~({64{1'b1}} << s_bytes[8]) : {64{1'b1}};
  wire [20:0] beat_sum11;
  logic [24:0] sum;
  wire [24:0] sum_now = (first11 ? 25'd0 : sum) + {4'd0, beat_sum11};
  beat_sum adder (
      .clk(clk),
      .data(out9),
      .sum(beat_sum11)
  );
  always_ff @(posedge clk) begin
    for (i = 0; i < 64; i = i + 1) out9[8*i+:8] <= mask[i] ? made8[8*i+:8] : 8'd0;
    valid9 <= s_valid[8] && s_emits[8] && !rst;
    last9 <= s_last[8];
    beat9 <= s_beat[8];
    if (valid9) out[{into9, beat9}] <= out9;
    if (rst) into9 <= 2'd0;
    else if (valid9 && last9) into9 <= into9 + 2'd1;
    valid10 <= valid9 && !rst;
    last10 <= last9;
    first10 <= beat9 == 4'd0;
    valid11 <= valid10 && !rst;
    last11 <= last10;
    first11 <= first10;
    if (valid11) sum <= sum_now;
  end
  wire sums_full;
  wire [2:0] sums;
  fifo #(
      .WIDTH(25),
      .DEPTH_BITS(2)
  ) complete (
      .clk(clk),
      .rst(rst),
      .put(valid11 && last11),
      .back(sum_now),
      .full(sums_full),
      .valid(result_valid),
      .front(result_sum),
      .take(sum_taken),
      .count(sums)
  );
  assign result_data = out[{result, result_beat}];

  logic moves;
  always_comb begin
    moves = 1'b0;
    for (i = 1; i <= STAGES; i = i + 1) if (s_valid[i]) moves = 1'b1;
  end
  assign idle = !valid && !moves && results == 3'd0;

  wire unused = &{1'b0, waiting, sums_full, sums, s_stores[8], s_key[8]};

endmodule
