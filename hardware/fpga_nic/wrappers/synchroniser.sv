// SPDX-License-Identifier: Apache-2.0
//
// A bit from another clock. Tools that know the attribute place both flip-flops side by side.
module synchroniser (
    input  wire clk,
    input  wire from,
    output wire to
);

  (* ASYNC_REG = "TRUE" *) logic first, second;
  always_ff @(posedge clk) begin
    first  <= from;
    second <= first;
  end
  assign to = second;

endmodule
