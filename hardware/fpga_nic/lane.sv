// SPDX-License-Identifier: Apache-2.0
//
// One element of 32 bits: combines x, in the device, with y, which arrives. Five stages.
module lane #(
    parameter MULTIPLIES = 0
) (
    input  wire         clk,
    // 0: y, 1: y with canonical NaN, 2: sum, 3: maximum, 4: saturating sum;
    // with MULTIPLIES 5: x times factor, 6: x - y, 7: x
    input  wire  [ 2:0] op,
    input  wire  [ 2:0] op5,      // op of five cycles ago
    input  wire  [31:0] x,
    input  wire  [31:0] y,
    input  wire  [31:0] factor,
    output wire  [31:0] z
);

  localparam NAN = 32'h7fc00000;

  wire [31:0] sum, product;
  wire subtracts = MULTIPLIES != 0 && op == 3'd6;
  float32_add adder (
      .clk(clk),
      .a(x),
      .b({y[31] ^ subtracts, y[30:0]}),
      .sum(sum)
  );
  generate
    if (MULTIPLIES != 0) begin : has_product
      float32_multiply multiplier (
          .clk(clk),
          .a(x),
          .b(factor),
          .product(product)
      );
    end else assign product = 32'd0;
  endgenerate

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
      3'd7: other1 <= MULTIPLIES != 0 ? x : saturated;
      default: other1 <= saturated;
    endcase
    other2 <= other1;
    other3 <= other2;
    other4 <= other3;
    other5 <= other4;
  end

  wire is_sum5 = op5 == 3'd2 || (MULTIPLIES != 0 && op5 == 3'd6);
  wire is_product5 = MULTIPLIES != 0 && op5 == 3'd5;
  assign z = is_sum5 ? sum : is_product5 ? product : other5;

  wire unused = &{1'b0, factor};

endmodule
