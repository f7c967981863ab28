// SPDX-License-Identifier: Apache-2.0
//
// Looks on at a stream: each beat is shown once, in the first clock in which it is offered, whether or not the receiver
// of the stream takes it then. What looks on must be ready always.
module stream_tap (
    input  wire clk,
    input  wire rst,
    input  wire valid,  // of the stream
    input  wire ready,
    output wire shown
);

  logic waits;  // the beat has been shown, and the receiver has not taken it
  assign shown = valid && !waits;
  always_ff @(posedge clk) waits <= valid && !ready && !rst;

endmodule
