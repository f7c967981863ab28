// SPDX-License-Identifier: Apache-2.0
//
// One element of 32 bits: what a device makes of x, which it has, and y, which comes. Five stages.
module lane (
    input  wire         clk,
    input  wire  [ 2:0] op,       // 0: y, 1: y, NaN as canonical, 2: the sum, 3: the larger one, 4: the saturating sum
    input  wire         is_sum5,  // op was 2 five cycles ago
    input  wire  [31:0] x,
    input  wire  [31:0] y,
    output wire  [31:0] z
);

  localparam NAN = 32'h7fc00000;

  wire [31:0] sum;
  float32_add adder (
      .clk(clk),
      .a(x),
      .b(y),
      .sum(sum)
  );

  // -0 is smaller than +0.
  wire x_is_nan = &x[30:23] && x[22:0] != 23'd0;
  wire y_is_nan = &y[30:23] && y[22:0] != 23'd0;
  wire y_is_longer = y[30:0] > x[30:0];
  wire takes_y = x[31] != y[31] ? x[31] : y_is_longer != x[31];
  wire [31:0] larger = x_is_nan || y_is_nan ? NAN : takes_y ? y : x;

  wire [32:0] wide = {x[31], x} + {y[31], y};
  wire [31:0] saturated = wide[32] == wide[31] ? wide[31:0] : wide[32] ? 32'h80000000 : 32'h7fffffff;

  logic [31:0] other1, other2, other3, other4, other5;
  always_ff @(posedge clk) begin
    case (op)
      3'd0: other1 <= y;
      3'd1: other1 <= y_is_nan ? NAN : y;
      3'd3: other1 <= larger;
      default: other1 <= saturated;
    endcase
    other2 <= other1;
    other3 <= other2;
    other4 <= other3;
    other5 <= other4;
  end

  assign z = is_sum5 ? sum : other5;

endmodule
