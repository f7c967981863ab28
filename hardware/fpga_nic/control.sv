// SPDX-License-Identifier: Apache-2.0
//
// Handles packets one at a time: finds jobs and members, applies the rules of slots, commands the vector unit, and
// orders the frames of the answers.
module control #(
    parameter SLOTS = 512,
    parameter WORKERS = 32,
    parameter WEIGHTS = 0,
    parameter JOBS = 1,
    parameter LEASE_MS = 60000,
    parameter WORKER_BITS = 5,   // log2 of WORKERS
    parameter JOB_BITS = 1,      // log2 of JOBS, at least 1
    parameter INDEX_BITS = 10,   // log2 of JOBS * SLOTS * 2: versions of slots, and blocks of elements
    parameter KEY_BITS = 1,      // log2 of JOBS * WEIGHTS, at least 1
    parameter PACKET_BITS = 369,
    parameter COMMAND_BITS = 40
) (
    input  wire                            clk,
    input  wire                            rst,

    input  wire                            packet_valid,
    input  wire  [        PACKET_BITS-1:0] packet,         // see receive.sv
    output wire                            packet_take,

    output logic                           command_put,
    output wire  [       COMMAND_BITS-1:0] command,        // see vector_unit.sv
    input  wire                            command_full,

    output logic                           order_put,
    output wire  [                  321:0] order,          // see transmit.sv
    input  wire                            order_full,

    input  wire                            end_job,        // held until done
    input  wire  [           JOB_BITS-1:0] end_job_number,
    output wire                            end_job_done,

    output wire  [               JOBS-1:0] job_valid,
    output wire  [            JOBS*32-1:0] job_nonce,
    output wire  [               JOBS-1:0] job_in_order,
    output wire  [             JOBS*8-1:0] job_size,
    output wire  [            JOBS*16-1:0] job_slots,
    output wire  [       JOBS*WORKERS-1:0] job_present,

    // 0 join, 1 leave, 2 end, 3 query, 4 stored, 5 completed, 6 repeated, 7 duplicate, 8 busy; refused: 9 mismatch,
    // 10 unknown, 11 no slots, 12 late, 13 unsupported; 14 a refusal that was not sent, 15 a result; 16 refused: no
    // weights, 17 weights stored, 18 pulled, 19 updated
    output logic [                   19:0] events,
    output wire                            idle
);

  localparam SLOT_BITS = $clog2(SLOTS);
  localparam RECORD_BITS = $clog2(JOBS * WORKERS);
  localparam STATE_BITS = 130 + WORKER_BITS + WORKERS * (3 + WORKER_BITS);
  localparam META_BITS = STATE_BITS + (WEIGHTS != 0 ? 128 : 0);

  localparam JOIN = 4'd1, JOINED = 4'd2, LEAVE = 4'd3, END = 4'd4, CONTRIBUTE = 4'd5, RESULT = 4'd6, QUERY = 4'd7,
             MISSING = 4'd8, SUPPLY = 4'd9, REFUSE = 4'd10;
  localparam STORED = 4'd0, COMPLETED = 4'd1, ACCEPTED = 4'd2, DUPLICATE = 4'd3, BUSY = 4'd4, LATE = 4'd5,
             MISMATCH = 4'd6, UNSUPPORTED = 4'd7, NO_WEIGHTS = 4'd9, KEPT = 4'd10, PULLED = 4'd11;
  localparam BY_MISMATCH = 3'd1, BY_UNKNOWN = 3'd2, BY_NO_SLOTS = 3'd3, BY_LATE = 3'd4, BY_UNSUPPORTED = 3'd5,
             BY_NO_WEIGHTS = 3'd6;
  localparam COPY = 8'd1, SUM_FLOAT32 = 8'd2, MAX_FLOAT32 = 8'd3, UPDATE = 8'd5;

  localparam IDLE = 5'd0, FIND = 5'd1, LOOK = 5'd2, MEMBER = 5'd3, RULE = 5'd4, ACT = 5'd5, TAKE = 5'd6, FOLD = 5'd7,
             EMIT = 5'd8, WALK = 5'd9, ANSWER = 5'd10, RELEASE = 5'd11, DISCARD = 5'd12, REPLY = 5'd13,
             UNKNOWN = 5'd14, ABANDON = 5'd15, BEGIN = 5'd16, CLEAR = 5'd17, COMPARE = 5'd18, TARGET = 5'd19,
             ENTER = 5'd20, BEHIND = 5'd21, DECAY = 5'd22, SLOPE = 5'd23, RATE = 5'd24, STEP = 5'd25, KEEP = 5'd26,
             PULL = 5'd27;
  logic [4:0] state, after;  // after: the next state once the payload is discarded, or the result handed out

  // The current packet.
  logic [PACKET_BITS-1:0] p;
  wire [3:0] kind = p[3:0];
  wire [7:0] operation = p[15:8];
  wire [31:0] nonce = p[47:16];
  wire [31:0] sequence_number = p[79:48];
  wire [31:0] fingerprint = p[111:80];
  wire [15:0] slot = p[127:112];
  wire [10:0] length = p[138:128];
  wire [7:0] worker = p[151:144];
  wire [7:0] workers = p[159:152];
  wire phase = p[160];
  wire in_rank_order = p[161];
  wire no_data = p[162];
  wire is_keyed = p[165];
  wire congested = p[176];
  wire [47:0] mac = p[224:177];
  wire [47:0] address = p[272:225];  // IP and port: the identity of a member
  wire [47:0] now = p[320:273];
  wire [31:0] wanted_lease = p[352:321];
  wire [15:0] wanted_slots = p[368:353];
  wire [WORKER_BITS-1:0] as_worker = worker[WORKER_BITS-1:0];
  // Terms of an update (key, version, rate, decay) follow the elements of a contribution.
  wire has_terms = kind == CONTRIBUTE && operation == UPDATE;
  wire [10:0] elements = has_terms ? 11'd1024 : length;
  wire [127:0] terms;
  generate
    if (WEIGHTS != 0) assign terms = has_terms ? p[PACKET_BITS-1-:128] : 128'd0;
    else assign terms = 128'd0;
  endgenerate

  // Jobs.
  logic [JOBS-1:0] valid, keeps;  // keeps: there is memory for the contributions of 8 workers
  logic [31:0] nonces [0:JOBS-1];
  logic [7:0] sizes [0:JOBS-1];
  logic [15:0] granted [0:JOBS-1];
  logic [JOBS*WORKERS-1:0] present;
  logic [JOBS*WORKERS-1:0] marked;  // members with ECN-marked packets that have not been told yet

  logic is_known, has_room;
  logic [JOB_BITS-1:0] known_job, free_job;
  integer i;
  always_comb begin
    is_known = 1'b0;
    known_job = 0;
    has_room = 1'b0;
    free_job = 0;
    for (i = 0; i < JOBS; i = i + 1) begin
      if (valid[i] && nonces[i] == nonce) begin
        is_known = 1'b1;
        known_job = i[JOB_BITS-1:0];
      end
      if (!valid[i]) begin
        has_room = 1'b1;
        free_job = i[JOB_BITS-1:0];
      end
    end
  end

  function automatic [WORKER_BITS-1:0] first_of(input [WORKERS-1:0] set);
    integer k;
    begin
      first_of = 0;
      for (k = WORKERS - 1; k >= 0; k = k - 1) if (set[k]) first_of = k[WORKER_BITS-1:0];
    end
  endfunction

  // Members. A record holds IP, port and MAC, the lease, and its end, in units of 100 us.
  logic [JOB_BITS-1:0] job;      // the packet's
  logic [WORKER_BITS-1:0] look;  // the member under test: the sender, once it is found
  logic scanning;
  // The member that last sent as each worker: the first candidate for its next packet.
  logic [WORKER_BITS-1:0] senders [0:JOBS*WORKERS-1];
  wire [JOB_BITS+WORKER_BITS-1:0] known_job_and_worker = {known_job, as_worker};
  wire [JOB_BITS+WORKER_BITS-1:0] job_and_worker = {job, as_worker};
  wire [JOB_BITS+WORKER_BITS-1:0] job_and_member = {job, look};
  wire [RECORD_BITS-1:0] at = job_and_member[RECORD_BITS-1:0];
  logic [163:0] records [0:JOBS*WORKERS-1];
  wire [163:0] record = records[at];
  wire is_sender = present[at] && record[47:0] == address;
  wire lease_runs = present[at] && now < record[163:116];
  wire [WORKERS-1:0] members_present = present[job*WORKERS+:WORKERS];
  wire [WORKERS-1:0] looked_at = {{(WORKERS - 1) {1'b0}}, 1'b1} << look;
  wire [7:0] size = sizes[job];
  wire is_last_look = {{(8 - WORKER_BITS) {1'b0}}, look} + 8'd1 >= size;

  localparam [31:0] MOST_LEASE = LEASE_MS;
  wire [31:0] lease_ms = wanted_lease < MOST_LEASE ? wanted_lease : MOST_LEASE;
  wire [19:0] lease = {1'b0, lease_ms[15:0], 3'b000} + {3'b000, lease_ms[15:0], 1'b0};

  localparam [15:0] MOST_SLOTS = SLOTS[15:0];
  localparam [15:0] MOST_SLOTS_IN_ORDER = SLOTS[18:3];
  localparam [7:0] MOST_MEMBERS = WORKERS[7:0];
  wire [15:0] most_slots = in_rank_order ? MOST_SLOTS_IN_ORDER : MOST_SLOTS;
  wire [15:0] grant = wanted_slots < most_slots ? wanted_slots : most_slots;

  // Versions of slots.
  wire [JOB_BITS+SLOT_BITS:0] version = {job, slot[SLOT_BITS-1:0], phase};
  wire [INDEX_BITS-1:0] index = version[INDEX_BITS-1:0];
  logic [16:0] cleared;
  wire [JOB_BITS+SLOT_BITS:0] to_clear = {job, cleared[SLOT_BITS:0]};
  wire [16:0] last_version = {granted[job], 1'b0} - 17'd1;
  localparam [31:0] LAST_WEIGHTS = WEIGHTS - 1;
  wire [16:0] clears_until = WEIGHTS != 0 && LAST_WEIGHTS[16:0] > last_version ? LAST_WEIGHTS[16:0] : last_version;

  // Weights: presence and version of each key.
  wire [31:0] key = is_keyed ? sequence_number : terms[31:0];
  wire has_place = WEIGHTS != 0 && key <= LAST_WEIGHTS;
  wire [JOB_BITS+16:0] job_and_key;
  wire [KEY_BITS-1:0] weights_at = job_and_key[KEY_BITS-1:0];
  wire has_weights;
  wire [31:0] weights_version;
  wire is_earlier = $signed(fingerprint - weights_version) < 0;
  wire takes_weights = !has_weights || !is_earlier;  // for a packet that brings some
  logic [31:0] version_now;                          // the version that the sender is told
  localparam KEYS_OF_JOB = WEIGHTS > 1 ? $clog2(WEIGHTS) : 0;
  generate
    if (WEIGHTS != 0) begin : weights
      wire [JOB_BITS+16:0] shifted = {{17{1'b0}}, job} << KEYS_OF_JOB;
      wire is_cleared = state == CLEAR && cleared <= LAST_WEIGHTS[16:0];
      wire [16:0] of_job = state == CLEAR ? cleared : key[16:0] & LAST_WEIGHTS[16:0];
      assign job_and_key = shifted | {{JOB_BITS{1'b0}}, of_job};
      wire is_changed = state == ACT && (updates || (verdict == KEPT && takes_weights));
      wire is_there;
      assign has_weights = has_place && is_there;
      ram #(
          .WIDTH(33),
          .DEPTH_BITS(KEY_BITS)
      ) of_weights (
          .clk(clk),
          .write(is_cleared || is_changed),
          .write_at(weights_at),
          .write_data(is_cleared ? 33'd0 : {1'b1, is_keyed ? fingerprint : weights_version + 32'd1}),
          .read(state == LOOK || state == MEMBER),
          .read_at(weights_at),
          .read_data({is_there, weights_version})
      );
    end else begin : no_weights
      assign job_and_key = 0;
      assign has_weights = 1'b0;
      assign weights_version = 32'd0;
    end
  endgenerate

  wire begins_now;
  wire [3:0] verdict_now;
  wire [WORKER_BITS-1:0] differs_now;
  wire is_open, is_complete, held_in_order, has_completed;
  wire [2:0] held_operation;
  wire [7:0] held_workers, count;
  wire [WORKER_BITS-1:0] opener;
  wire [10:0] held_length;
  wire [31:0] held_sequence, held_fingerprint, completed;
  wire [META_BITS-1:0] held;
  wire [127:0] held_terms;
  assign {is_open, is_complete, held_operation, held_in_order, held_workers, opener, count, held_length, held_sequence,
          held_fingerprint, has_completed, completed, arrived, gave, want_none, members} = held[STATE_BITS-1:0];
  generate
    if (WEIGHTS != 0) assign held_terms = held[META_BITS-1-:128];
    else assign held_terms = 128'd0;
  endgenerate
  wire [WORKERS-1:0] arrived, gave, want_none;
  wire [WORKERS*WORKER_BITS-1:0] members;

  // The version after a packet that is taken. (Its state is stable from RULE on.)
  logic begins;
  logic [3:0] verdict;
  logic [WORKER_BITS-1:0] differs, sender;
  wire is_contribution = kind == CONTRIBUTE;
  wire completes = verdict == COMPLETED;
  wire updates = WEIGHTS != 0 && completes && has_terms;
  wire [WORKERS-1:0] me = is_contribution ? {{(WORKERS - 1) {1'b0}}, 1'b1} << as_worker : {WORKERS{1'b0}};
  wire [WORKERS-1:0] new_arrived = (begins ? {WORKERS{1'b0}} : arrived) | me;
  wire [WORKERS-1:0] new_gave = (begins ? {WORKERS{1'b0}} : gave) | (elements != 11'd0 ? me : {WORKERS{1'b0}});
  wire [WORKERS-1:0] new_want_none = (begins ? {WORKERS{1'b0}} : want_none) | (no_data ? me : {WORKERS{1'b0}});
  wire [10:0] base_length = begins ? 11'd0 : held_length;
  wire [10:0] new_length = elements != 11'd0 || kind == SUPPLY ? elements : base_length;
  wire [127:0] new_terms = is_contribution ? terms : begins ? 128'd0 : held_terms;
  wire [7:0] new_count = (begins ? 8'd0 : count) + {7'd0, is_contribution};
  logic [WORKERS*WORKER_BITS-1:0] new_members;
  always_comb begin
    new_members = members;
    if (is_contribution) new_members[as_worker*WORKER_BITS+:WORKER_BITS] = sender;
  end
  wire [STATE_BITS+127:0] new_version = {
    new_terms,
    !completes,
    completes,
    begins ? operation[2:0] : held_operation,
    begins ? in_rank_order : held_in_order,
    begins ? workers : held_workers,
    begins ? as_worker : opener,
    new_count,
    new_length,
    begins ? sequence_number : held_sequence,
    begins ? fingerprint : held_fingerprint,
    has_completed || (begins && is_complete),
    begins && is_complete ? held_sequence : completed,
    new_arrived,
    new_gave,
    new_want_none,
    new_members
  };

  wire changes = state == ACT && kind != QUERY && (verdict == STORED || completes);
  ram #(
      .WIDTH(META_BITS),
      .DEPTH_BITS(INDEX_BITS)
  ) versions (
      .clk(clk),
      .write(changes || state == CLEAR),
      .write_at(state == CLEAR ? to_clear[INDEX_BITS-1:0] : index),
      .write_data(state == CLEAR ? {META_BITS{1'b0}} : new_version[META_BITS-1:0]),
      .read(state == LOOK || state == MEMBER),
      .read_at(index),
      .read_data(held)
  );

  slot_rules #(
      .WORKERS(WORKERS),
      .WORKER_BITS(WORKER_BITS),
      .WEIGHTS(WEIGHTS)
  ) rules (
      .is_query(kind == QUERY),
      .is_supply(kind == SUPPLY),
      .member(look),
      .operation(operation),
      .sequence_number(sequence_number),
      .fingerprint(fingerprint),
      .slot(slot),
      .length(elements),
      .worker(worker),
      .workers(workers),
      .in_rank_order(in_rank_order),
      .is_keyed(is_keyed),
      .has_terms(has_terms),
      .terms(terms),
      .members_of_job(size),
      .slots(granted[job]),
      .keeps(keeps[job]),
      .has_place(has_place),
      .has_weights(has_weights),
      .has_version(has_weights && weights_version == terms[63:32]),
      .is_open(is_open),
      .is_complete(is_complete),
      .held_operation(held_operation),
      .held_in_rank_order(held_in_order),
      .held_workers(held_workers),
      .opener(opener),
      .count(count),
      .held_length(held_length),
      .held_terms(held_terms),
      .held_sequence(held_sequence),
      .held_fingerprint(held_fingerprint),
      .has_completed(has_completed),
      .completed(completed),
      .arrived(arrived),
      .gave(gave),
      .members(members),
      .begins(begins_now),
      .verdict(verdict_now),
      .differs(differs_now)
  );

  // Elements. Block 0 of a version holds the result; with stored contributions there are 8 blocks, one for each.
  wire is_sum = operation == SUM_FLOAT32 || operation == UPDATE;
  wire is_float = is_sum || operation == MAX_FLOAT32;
  wire [2:0] copying = is_float ? 3'd1 : 3'd0;
  wire [2:0] combining = is_sum ? 3'd2 : operation == MAX_FLOAT32 ? 3'd3 : 3'd4;
  wire is_kept = is_contribution && in_rank_order && operation != COPY;
  wire [JOB_BITS+SLOT_BITS:0] kept_version = {job, slot[SLOT_BITS-4:0], phase, 3'd0};
  wire [INDEX_BITS-1:0] block = keeps[job] ? kept_version[INDEX_BITS-1:0] : index;
  function automatic [INDEX_BITS-1:0] kept(input [2:0] number);
    kept = {block[INDEX_BITS-1:3], number};
  endfunction

  logic [WORKERS-1:0] left;          // workers to be folded, or to be answered
  logic is_first;                    // the first contribution to be folded
  logic emitted;                     // a result has been handed out
  logic [10:0] result_length;
  logic [WORKER_BITS-1:0] answered;  // worker number of the receiver
  wire [WORKER_BITS-1:0] next = first_of(left);
  wire [WORKERS-1:0] rest = left & (left - 1'b1);

  localparam NOTHING = 2'd0, A_BLOCK = 2'd1, PARTIAL = 2'd2, SOME_WEIGHTS = 2'd3;
  logic [2:0] c_op;
  logic [1:0] c_x, c_to;
  logic c_y, c_emits;
  logic [INDEX_BITS-1:0] c_from, c_into;
  logic [10:0] c_length;
  logic c_stores;
  wire [31:0] c_factor = state == DECAY ? terms[127:96] : terms[95:64];
  wire has_decay = terms[126:96] != 31'd0;
  wire [2*INDEX_BITS+KEY_BITS+52:0] whole_command = {
    c_factor, weights_at, c_stores, c_length, c_emits, c_into, c_to, c_from, c_y, c_x, c_op
  };
  assign command = whole_command[COMMAND_BITS-1:0];
  always_comb begin
    command_put = 1'b0;
    c_op = 3'd0;
    c_x = NOTHING;
    c_y = 1'b0;
    c_from = block;
    c_to = NOTHING;
    c_into = block;
    c_emits = 1'b0;
    c_stores = 1'b0;
    c_length = length;
    case (state)
      DISCARD: command_put = length != 11'd0;
      TAKE: begin
        command_put = 1'b1;
        c_to = A_BLOCK;
        c_length = elements;
        c_emits = completes && !is_kept && !updates;
        if (is_kept) c_into = kept(as_worker[2:0]);
        else if (base_length == 11'd0 || !is_contribution) c_op = is_contribution ? copying : 3'd0;
        else begin
          c_op = combining;
          c_x = A_BLOCK;
        end
      end
      FOLD: begin
        command_put = 1'b1;
        c_op = is_first ? copying : combining;
        c_x = is_first ? NOTHING : PARTIAL;
        c_y = 1'b1;
        c_from = kept(next[2:0]);
        c_to = rest == {WORKERS{1'b0}} ? A_BLOCK : PARTIAL;
        c_emits = rest == {WORKERS{1'b0}} && !updates;
        c_length = result_length;
      end
      BEHIND: begin
        command_put = 1'b1;
        c_length = 11'd16;
      end
      // decay x weights; plus the sum of gradients; times the rate; weights minus that
      DECAY: begin
        command_put = 1'b1;
        c_op = 3'd5;
        c_x = SOME_WEIGHTS;
        c_y = 1'b1;
        c_to = PARTIAL;
        c_length = result_length;
      end
      SLOPE: begin
        command_put = 1'b1;
        c_op = 3'd2;
        c_x = PARTIAL;
        c_y = 1'b1;
        c_to = A_BLOCK;
        c_length = result_length;
      end
      RATE: begin
        command_put = 1'b1;
        c_op = 3'd5;
        c_x = A_BLOCK;
        c_y = 1'b1;
        c_to = A_BLOCK;
        c_length = result_length;
      end
      STEP: begin
        command_put = 1'b1;
        c_op = 3'd6;
        c_x = SOME_WEIGHTS;
        c_y = 1'b1;
        c_to = A_BLOCK;
        c_stores = 1'b1;
        c_emits = 1'b1;
        c_length = result_length;
      end
      KEEP: begin
        command_put = 1'b1;
        c_stores = 1'b1;
      end
      PULL: begin
        command_put = 1'b1;
        c_op = 3'd7;
        c_x = SOME_WEIGHTS;
        c_y = 1'b1;
        c_emits = 1'b1;
        c_length = 11'd1024;
      end
      EMIT: begin
        command_put = 1'b1;
        c_y = 1'b1;
        c_emits = 1'b1;
        c_length = result_length;
      end
      default: ;
    endcase
  end

  // Answers.
  logic [3:0] reply_kind;
  logic [7:0] reply_worker, reply_workers;
  logic [10:0] reply_length;
  logic [47:0] reply_payload;
  logic [47:0] next_refusal;
  wire [7:0] answered_byte = {{(8 - WORKER_BITS) {1'b0}}, answered};
  wire may_refuse = length != 11'd0 && now >= next_refusal;
  wire answers = state == ANSWER && present[at];

  wire [31:0] o_fingerprint = WEIGHTS != 0 && is_keyed && o_kind == RESULT ? version_now : fingerprint;
  logic o_release, o_result, o_no_data, o_congested;
  logic [3:0] o_kind;
  logic [7:0] o_worker, o_workers;
  logic [10:0] o_length;
  logic [47:0] o_mac, o_address;
  assign order = {
    o_release, o_result && o_length != 11'd0, o_result || o_length == 11'd0 ? 48'd0 : reply_payload, o_mac, o_address,
    10'd0, is_keyed, o_congested, 1'b0, o_no_data, in_rank_order, phase, o_workers, o_worker,
    5'd0, o_length, slot, o_fingerprint, p[79:8], 4'd1, o_kind
  };
  always_comb begin
    order_put = 1'b0;
    o_release = 1'b0;
    o_result = reply_kind == RESULT;
    o_kind = reply_kind;
    o_worker = reply_worker;
    o_workers = reply_workers;
    o_length = reply_length;
    o_no_data = no_data;
    o_congested = marked[at];
    o_mac = record[95:48];
    o_address = record[47:0];
    case (state)
      ANSWER: begin
        order_put = answers;
        o_result = 1'b1;
        o_kind = RESULT;
        o_worker = answered_byte;
        o_workers = workers;
        o_no_data = new_want_none[answered];
        o_length = o_no_data ? 11'd0 : result_length;
      end
      RELEASE: begin
        order_put = 1'b1;
        o_release = 1'b1;
      end
      REPLY: order_put = 1'b1;
      UNKNOWN: begin
        order_put = may_refuse;
        o_no_data = 1'b0;
        o_congested = 1'b0;
        o_mac = mac;
        o_address = address;
      end
      default: ;
    endcase
  end

  logic known_elsewhere, runs_elsewhere;
  logic [WORKER_BITS-1:0] elsewhere;
  logic [JOBS-1:0] alive;
  wire [JOBS-1:0] alive_now = alive | ({{(JOBS - 1) {1'b0}}, lease_runs && valid[job]} << job);
  wire is_taken = present[at] && record[47:0] != address && lease_runs;
  wire is_other = known_elsewhere && runs_elsewhere;
  wire [JOB_BITS+WORKER_BITS-1:0] job_and_elsewhere = {job, elsewhere};
  wire [RECORD_BITS-1:0] left_behind = job_and_elsewhere[RECORD_BITS-1:0];
  localparam [31:0] LAST_JOB = JOBS - 1;
  wire waits = (command_put && command_full) || (order_put && order_full);

  // A refusal goes to the sender, as a member or as an unknown one.
  logic [2:0] why;
  task refuse(input [2:0] reason, input [7:0] other, input [7:0] of);
    begin
      reply_kind <= REFUSE;
      reply_length <= 11'd1;
      reply_payload <= {45'd0, reason};
      reply_worker <= other;
      reply_workers <= of;
      why <= reason;
    end
  endtask

  assign packet_take = state == IDLE && packet_valid && !end_job;
  assign end_job_done = state == IDLE && end_job;
  assign idle = state == IDLE && !end_job && events == 20'd0;

  generate
    genvar j;
    for (j = 0; j < JOBS; j = j + 1) begin : view
      assign job_nonce[32*j+:32] = nonces[j];
      assign job_size[8*j+:8] = sizes[j];
      assign job_slots[16*j+:16] = granted[j];
    end
  endgenerate
  assign job_valid = valid;
  assign job_in_order = keeps;
  assign job_present = present;

  always_ff @(posedge clk) begin
    events <= 20'd0;
    case (state)
      IDLE: begin
        if (end_job) valid[end_job_number] <= 1'b0;
        else if (packet_valid) state <= FIND;
        p <= packet;
        emitted <= 1'b0;
        known_elsewhere <= 1'b0;
      end

      FIND: begin
        job <= known_job;
        look <= senders[known_job_and_worker[RECORD_BITS-1:0]];
        scanning <= 1'b0;
        alive <= 0;
        if (kind == JOIN) begin
          after <= is_known ? COMPARE : ABANDON;
          state <= DISCARD;
          if (!is_known) begin
            job <= 0;
            look <= 0;
          end
        end else if (!is_known) begin
          refuse(BY_UNKNOWN, worker, workers);
          after <= UNKNOWN;
          state <= DISCARD;
        end else state <= LOOK;
      end

      // Finds the sender: its worker number is a guess of its member number.
      LOOK: begin
        if (is_sender) begin
          known_elsewhere <= look != as_worker;
          elsewhere <= look;
          runs_elsewhere <= lease_runs;
          look <= kind == JOIN ? as_worker : look;
          state <= kind == JOIN ? TARGET : MEMBER;
        end else if (!scanning || !is_last_look) begin
          scanning <= 1'b1;
          look <= scanning ? look + 1'b1 : 0;
        end else if (kind == JOIN) begin
          look <= as_worker;
          state <= TARGET;
        end else begin
          refuse(BY_UNKNOWN, worker, workers);
          after <= UNKNOWN;
          state <= DISCARD;
        end
      end

      MEMBER: begin
        marked[at] <= marked[at] | congested;
        senders[job_and_worker[RECORD_BITS-1:0]] <= look;
        case (kind)
          LEAVE: begin
            present[at] <= 1'b0;
            marked[at] <= 1'b0;
            if (members_present == looked_at) valid[job] <= 1'b0;
            events[1] <= 1'b1;
            state <= IDLE;
          end
          END: begin
            if (look == 0) begin
              valid[job] <= 1'b0;
              events[2] <= 1'b1;
              state <= IDLE;
            end else begin
              refuse(BY_MISMATCH, 8'd0, size);
              state <= REPLY;
            end
          end
          default: state <= RULE;
        endcase
      end

      RULE: begin
        begins <= begins_now;
        verdict <= verdict_now;
        differs <= differs_now;
        sender <= look;
        state <= ACT;
      end

      ACT: begin
        result_length <= completes ? new_length : held_length;
        is_first <= 1'b1;
        left <= is_kept ? new_gave : new_arrived;
        reply_worker <= worker;
        reply_workers <= workers;
        case (verdict)
          STORED, COMPLETED: begin
            if (kind == QUERY) begin
              events[3] <= 1'b1;
              reply_kind <= MISSING;
              reply_length <= begins ? 11'd0 : {6'd0, workers[7:3]} + {10'd0, workers[2:0] != 3'd0};
              reply_payload <= {{(48 - WORKERS) {1'b0}}, arrived};
              state <= REPLY;
            end else begin
              events[completes ? 5 : 4] <= 1'b1;
              events[19] <= updates;
              if (elements != 11'd0) state <= TAKE;
              else if (!completes) state <= IDLE;
              else if (new_length == 11'd0) begin
                left <= new_arrived;
                state <= WALK;
              end else state <= is_kept ? FOLD : EMIT;
            end
          end
          ACCEPTED: begin
            events[kind == QUERY ? 3 : 6] <= 1'b1;
            reply_kind <= RESULT;
            reply_length <= no_data ? 11'd0 : held_length;
            after <= no_data || held_length == 11'd0 ? REPLY : EMIT;
            state <= DISCARD;
          end
          KEPT: begin
            events[17] <= 1'b1;
            version_now <= takes_weights ? fingerprint : weights_version;
            reply_kind <= RESULT;
            reply_length <= 11'd0;
            after <= REPLY;
            state <= takes_weights ? KEEP : DISCARD;
          end
          PULLED: begin
            events[18] <= 1'b1;
            version_now <= weights_version;
            reply_kind <= RESULT;
            reply_length <= no_data ? 11'd0 : 11'd1024;
            state <= no_data ? REPLY : PULL;
          end
          DUPLICATE, BUSY: begin
            events[verdict == BUSY ? 8 : 7] <= 1'b1;
            after <= IDLE;
            state <= DISCARD;
          end
          default: begin
            case (verdict)
              LATE: refuse(BY_LATE, worker, workers);
              MISMATCH: refuse(BY_MISMATCH, {{(8 - WORKER_BITS) {1'b0}}, differs}, held_workers);
              UNSUPPORTED: refuse(BY_UNSUPPORTED, worker, workers);
              NO_WEIGHTS: refuse(BY_NO_WEIGHTS, worker, workers);
              default: refuse(BY_NO_SLOTS, worker, workers);
            endcase
            after <= REPLY;
            state <= DISCARD;
          end
        endcase
      end

      TAKE:
      if (!waits) begin
        emitted <= c_emits;
        if (has_terms) state <= BEHIND;
        else if (!completes) state <= IDLE;
        else if (is_kept) state <= FOLD;
        else begin
          left <= new_arrived;
          state <= WALK;
        end
      end

      BEHIND:
      if (!waits) state <= !completes ? IDLE : is_kept ? FOLD : has_decay ? DECAY : RATE;

      DECAY: if (!waits) state <= SLOPE;

      SLOPE: if (!waits) state <= RATE;

      RATE: if (!waits) state <= STEP;

      STEP:
      if (!waits) begin
        emitted <= 1'b1;
        left <= new_arrived;
        state <= WALK;
      end

      KEEP: if (!waits) state <= REPLY;

      PULL:
      if (!waits) begin
        emitted <= 1'b1;
        state <= REPLY;
      end

      FOLD:
      if (!waits) begin
        is_first <= 1'b0;
        emitted <= 1'b1;
        left <= rest;
        if (rest == {WORKERS{1'b0}}) begin
          left <= new_arrived;
          state <= !updates ? WALK : has_decay ? DECAY : RATE;
        end
      end

      // Visits all contributors in turn.
      WALK: begin
        answered <= next;
        look <= new_members[next*WORKER_BITS+:WORKER_BITS];
        left <= rest;
        if (left != {WORKERS{1'b0}}) state <= ANSWER;
        else state <= emitted ? RELEASE : IDLE;
      end

      ANSWER:
      if (!waits) begin
        if (answers) marked[at] <= 1'b0;
        events[15] <= answers;
        state <= WALK;
      end

      EMIT:
      if (!waits) begin
        emitted <= 1'b1;
        left <= new_arrived;
        state <= completes ? WALK : REPLY;
      end

      REPLY:
      if (!waits) begin
        marked[at] <= 1'b0;
        if (reply_kind == REFUSE) events[why == BY_NO_WEIGHTS ? 5'd16 : {2'b01, why}] <= 1'b1;
        events[15] <= reply_kind == RESULT && !is_keyed;
        state <= emitted ? RELEASE : IDLE;
      end

      RELEASE: if (!waits) state <= IDLE;

      DISCARD: if (!waits) state <= after;

      UNKNOWN:
      if (!waits) begin
        events[{2'b01, why}] <= 1'b1;
        events[14] <= !may_refuse;
        if (may_refuse) next_refusal <= now + 48'd1;
        state <= IDLE;
      end

      // Handles a join to a new job. First, jobs are freed whose leases have all expired.
      ABANDON: begin
        alive <= alive_now;
        look <= look + 1'b1;
        if (look == {WORKER_BITS{1'b1}}) begin
          job <= job + 1'b1;
          if (job == LAST_JOB[JOB_BITS-1:0]) begin
            valid <= valid & alive_now;
            state <= BEGIN;
          end
        end
      end

      BEGIN: begin
        job <= free_job;
        look <= as_worker;
        cleared <= 0;
        if (!has_room || workers > MOST_MEMBERS || grant == 16'd0) begin
          refuse(BY_NO_SLOTS, worker, workers);
          state <= UNKNOWN;
        end else begin
          valid[free_job] <= 1'b1;
          keeps[free_job] <= in_rank_order;
          nonces[free_job] <= nonce;
          sizes[free_job] <= workers;
          granted[free_job] <= grant;
          present[free_job*WORKERS+:WORKERS] <= {WORKERS{1'b0}};
          marked[free_job*WORKERS+:WORKERS] <= {WORKERS{1'b0}};
          state <= CLEAR;
        end
      end

      CLEAR: begin
        cleared <= cleared + 1'b1;
        if (cleared == clears_until) state <= COMPARE;
      end

      COMPARE: begin
        if (size != workers || keeps[job] != in_rank_order) begin
          refuse(BY_MISMATCH, {{(8 - WORKER_BITS) {1'b0}}, first_of(members_present)}, size);
          state <= UNKNOWN;
        end else state <= LOOK;
      end

      TARGET: begin
        if (is_other || is_taken) begin
          refuse(BY_MISMATCH, is_other ? {{(8 - WORKER_BITS) {1'b0}}, elsewhere} : worker, size);
          state <= UNKNOWN;
        end else state <= ENTER;
      end

      ENTER: begin
        events[0] <= 1'b1;
        if (known_elsewhere) begin
          present[left_behind] <= 1'b0;
          marked[left_behind] <= 1'b0;
        end
        present[at] <= 1'b1;
        reply_kind <= JOINED;
        reply_worker <= worker;
        reply_workers <= workers;
        reply_length <= 11'd6;
        reply_payload <= {granted[job], lease_ms};
        state <= REPLY;
      end

      default: state <= IDLE;
    endcase

    if (state == MEMBER || state == ENTER)
      records[at] <= state == ENTER ? {now + {28'd0, lease}, lease, mac, address}
                                    : {now + {28'd0, record[115:96]}, record[115:0]};
    if (rst) begin
      state <= IDLE;
      valid <= {JOBS{1'b0}};
      next_refusal <= 48'd0;
      events <= 20'd0;
    end
  end

  wire unused = &{1'b0, p, job_and_member, job_and_elsewhere, job_and_worker, known_job_and_worker, version, to_clear,
                  kept_version, cleared, terms, has_place, job_and_key, whole_command, version_now, takes_weights,
                  LAST_WEIGHTS, key, new_version};

endmodule
