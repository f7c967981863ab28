// SPDX-License-Identifier: Apache-2.0
//
// 16 lanes for the check of lane.sv: a pair of operands each a cycle, as in the vector unit.
module lanes_16 (
    input  wire         clk,
    input  wire [  2:0] op,
    input  wire [511:0] x,
    input  wire [511:0] y,
    output wire [511:0] z
);

  logic [2:0] op1, op2, op3, op4, op5;
  always_ff @(posedge clk) begin
    op1 <= op;
    op2 <= op1;
    op3 <= op2;
    op4 <= op3;
    op5 <= op4;
  end

  genvar l;
  generate
    for (l = 0; l < 16; l = l + 1) begin : lanes
      lane #(
          .MULTIPLIES(1)
      ) one (
          .clk(clk),
          .op(op),
          .op5(op5),
          .x(x[32*l+:32]),
          .y(y[32*l+:32]),
          .factor(y[32*l+:32]),
          .z(z[32*l+:32])
      );
    end
  endgenerate

endmodule
