// SPDX-License-Identifier: Apache-2.0
//
// The sum of a beat's big-endian words of 16 bits, for Internet checksums. Two stages.
module beat_sum (
    input  wire          clk,
    input  wire  [511:0] data,
    output logic [ 20:0] sum
);

  // Sums eight words.
  function automatic [18:0] sum_of(input [127:0] words);
    integer i;
    begin
      sum_of = 19'd0;
      for (i = 0; i < 8; i = i + 1) sum_of = sum_of + {3'd0, words[16*i+:8], words[16*i+8+:8]};
    end
  endfunction

  logic [18:0] quarter0, quarter1, quarter2, quarter3;
  always_ff @(posedge clk) begin
    quarter0 <= sum_of(data[127:0]);
    quarter1 <= sum_of(data[255:128]);
    quarter2 <= sum_of(data[383:256]);
    quarter3 <= sum_of(data[511:384]);
    sum <= {2'd0, quarter0} + {2'd0, quarter1} + {2'd0, quarter2} + {2'd0, quarter3};
  end

endmodule
