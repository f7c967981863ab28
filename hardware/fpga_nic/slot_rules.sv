// SPDX-License-Identifier: Apache-2.0
//
// Decides the outcome of a packet at a version of a slot (docs/hardware/fpga-nic-protocol.md). No memory, no clock.
module slot_rules #(
    parameter WORKERS = 32,
    parameter WORKER_BITS = 5,
    parameter WEIGHTS = 0
) (
    // The packet.
    input  wire                            is_query,
    input  wire                            is_supply,
    input  wire  [        WORKER_BITS-1:0] member,
    input  wire  [                    7:0] operation,
    input  wire  [                   31:0] sequence_number,
    input  wire  [                   31:0] fingerprint,
    input  wire  [                   15:0] slot,
    input  wire  [                   10:0] length,         // its elements' length
    input  wire  [                    7:0] worker,
    input  wire  [                    7:0] workers,
    input  wire                            in_rank_order,
    input  wire                            is_keyed,
    input  wire                            has_terms,
    input  wire  [                  127:0] terms,
    // The packet's job, and the weights of its key.
    input  wire  [                    7:0] members_of_job,
    input  wire  [                   15:0] slots,
    input  wire                            keeps,          // memory for the contributions of 8 workers
    input  wire                            has_place,      // memory for the weights of this key
    input  wire                            has_weights,
    input  wire                            has_version,    // the version in the terms
    // The version.
    input  wire                            is_open,
    input  wire                            is_complete,
    input  wire  [                    2:0] held_operation,
    input  wire                            held_in_rank_order,
    input  wire  [                    7:0] held_workers,
    input  wire  [        WORKER_BITS-1:0] opener,
    input  wire  [                    7:0] count,
    input  wire  [                   10:0] held_length,
    input  wire  [                  127:0] held_terms,
    input  wire  [                   31:0] held_sequence,
    input  wire  [                   31:0] held_fingerprint,
    input  wire                            has_completed,
    input  wire  [                   31:0] completed,
    input  wire  [            WORKERS-1:0] arrived,
    input  wire  [            WORKERS-1:0] gave,
    input  wire  [WORKERS*WORKER_BITS-1:0] members,        // by worker: its member number

    output wire                            begins,         // if the packet is taken, it is the first of its sequence
    output logic [                    3:0] verdict,
    output logic [        WORKER_BITS-1:0] differs         // for a mismatch: the other worker
);

  localparam STORED = 4'd0, COMPLETED = 4'd1, ACCEPTED = 4'd2, DUPLICATE = 4'd3, BUSY = 4'd4, LATE = 4'd5,
             MISMATCH = 4'd6, UNSUPPORTED = 4'd7, NO_SLOT = 4'd8, NO_WEIGHTS = 4'd9, KEPT = 4'd10, PULLED = 4'd11;

  // Sequences wrap around.
  function automatic precedes(input [31:0] a, input [31:0] b);
    precedes = $signed(a - b) < 0;
  endfunction
  function automatic [WORKER_BITS-1:0] first_of(input [WORKERS-1:0] set);
    integer i;
    begin
      first_of = 0;
      for (i = WORKERS - 1; i >= 0; i = i - 1) if (set[i]) first_of = i[WORKER_BITS-1:0];
    end
  endfunction

  logic has_contributed;
  integer w;
  always_comb begin
    has_contributed = 1'b0;
    for (w = 0; w < WORKERS; w = w + 1)
      if (arrived[w] && members[w*WORKER_BITS+:WORKER_BITS] == member) has_contributed = 1'b1;
  end

  wire is_it = (is_open || is_complete) && held_sequence == sequence_number;
  wire overtaken = is_complete ? precedes(sequence_number, held_sequence)
                               : has_completed && !precedes(completed, sequence_number);
  wire combines = operation >= 8'd2 && operation <= 8'd5;
  wire is_known = combines || operation == 8'd1;
  wire is_supported = is_known && !(combines && in_rank_order && (!keeps || workers > 8'd8));
  wire waits = is_open && precedes(held_sequence, sequence_number) && !has_contributed;
  wire same_call = held_fingerprint == fingerprint && {5'd0, held_operation} == operation && held_workers == workers &&
                   held_in_rank_order == in_rank_order;
  wire [WORKER_BITS-1:0] as_worker = worker[WORKER_BITS-1:0];
  wire has_arrived = arrived[as_worker];
  wire is_same_member = members[as_worker*WORKER_BITS+:WORKER_BITS] == member;
  wire one_more = length != 11'd0 && held_length != 11'd0 && is_open;
  wire differs_in_data = one_more && (operation == 8'd1 || held_length != length);

  wire differs_in_terms = WEIGHTS != 0 && has_terms && count != 8'd0 && held_terms != terms;
  wire lacks_weights = has_terms && (WEIGHTS == 0 || !has_version);

  wire [7:0] count_before = is_it ? count : 8'd0;
  assign begins = !is_it;

  always_comb begin
    differs = opener;
    if (!is_query && workers > members_of_job) verdict = UNSUPPORTED;
    else if (is_keyed && is_query) verdict = WEIGHTS != 0 && has_weights ? PULLED : NO_WEIGHTS;
    else if (is_keyed) verdict = WEIGHTS != 0 && has_place ? KEPT : NO_SLOT;
    else if (slot >= slots) verdict = NO_SLOT;
    else if (is_query) begin
      if (!is_it) verdict = overtaken ? LATE : STORED;
      else if (!same_call) verdict = MISMATCH;
      else verdict = is_complete ? ACCEPTED : STORED;
    end else if (!is_supported) verdict = UNSUPPORTED;
    else if (is_it && !same_call) verdict = MISMATCH;
    else if (is_it && !is_supply && has_arrived) begin
      differs = as_worker;
      verdict = !is_same_member ? MISMATCH : is_complete ? ACCEPTED : lacks_weights ? NO_WEIGHTS : DUPLICATE;
    end else if (is_it && !is_supply && differs_in_terms) begin
      verdict = MISMATCH;
    end else if (is_it && !is_supply && differs_in_data) begin
      differs = first_of(gave);
      verdict = MISMATCH;
    end else if (is_it && is_complete) verdict = ACCEPTED;
    else if (!is_it && (is_open || is_complete) && overtaken) verdict = LATE;
    else if (!is_it && waits) verdict = BUSY;
    else if (lacks_weights) verdict = NO_WEIGHTS;
    else if (is_supply || count_before + 8'd1 == workers) verdict = COMPLETED;
    else verdict = STORED;
  end

  wire unused = &{1'b0, worker, terms, held_terms, has_place, has_weights, has_version};

endmodule
