// SPDX-License-Identifier: Apache-2.0
//
// Taps a stream: shows each beat once, in the first clock in which it is offered, whether or not the receiver takes
// it then. The tap's reader must always be ready.
module stream_tap (
    input  wire clk,
    input  wire rst,
    input  wire valid,  // the stream's
    input  wire ready,
    output wire shown
);

  logic waits;  // the beat has been shown, and the receiver has not taken it
  assign shown = valid && !waits;
  always_ff @(posedge clk) waits <= valid && !ready && !rst;

endmodule
