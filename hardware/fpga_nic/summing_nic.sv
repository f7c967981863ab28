// SPDX-License-Identifier: Apache-2.0
//
// The device that sums in the network: frames in, frames out. docs/hardware/fpga-nic-protocol.md specifies it; ports,
// parameters and registers are in README.md beside this file.
module summing_nic #(
    parameter SLOTS          = 512,    // for a job, a power of two from 16 on; an eighth of them in rank order
    parameter WORKERS        = 32,     // maximum of a job's members: 8, 16 or 32
    parameter JOBS           = 1,      // a power of two, at most 16
    parameter WEIGHTS        = 0,      // for a job, blocks of 1 KiB: 0, or a power of two from 2 to 65536
    parameter BUFFER_BEATS   = 512,    // payloads that wait, in units of 64 bytes: a power of two, at least 64
    parameter LEASE_MS       = 60000,  // the longest lease, at most 65535
    parameter TICK_CYCLES    = 25000,  // cycles of clk in 100 us
    parameter DROP_WHEN_FULL = 1,      // s_axis_tready is always high, and frames without room are dropped
    parameter [47:0] TIME_AT_RESET = 48'd0  // in units of 100 us; a simulation may begin late
) (
    input  wire         clk,
    input  wire         rst,            // synchronous, active high

    // Frames from the network, without their check sequence. A beat whose tkeep is not full is the last one.
    input  wire [511:0] s_axis_tdata,
    input  wire [ 63:0] s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire         s_axis_tuser,   // with tlast: the frame is bad
    output wire         overflow,       // for one cycle: there was no room for a frame
    output wire         idle,           // the device is empty, and nothing waits to leave

    // Frames to the network.
    output wire [511:0] m_axis_tdata,
    output wire [ 63:0] m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire         m_axis_tuser,   // always 0

    // Registers.
    input  wire [ 11:0] s_axil_awaddr,
    input  wire [  2:0] s_axil_awprot,
    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire [ 31:0] s_axil_wdata,
    input  wire [  3:0] s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    output wire [  1:0] s_axil_bresp,
    output wire         s_axil_bvalid,
    input  wire         s_axil_bready,
    input  wire [ 11:0] s_axil_araddr,
    input  wire [  2:0] s_axil_arprot,
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    output wire [ 31:0] s_axil_rdata,
    output wire [  1:0] s_axil_rresp,
    output wire         s_axil_rvalid,
    input  wire         s_axil_rready
);

  localparam WORKER_BITS = $clog2(WORKERS);
  localparam JOB_BITS = JOBS > 1 ? $clog2(JOBS) : 1;
  localparam INDEX_BITS = $clog2(JOBS * SLOTS * 2);
  localparam RING_BITS = $clog2(BUFFER_BEATS);
  localparam KEY_BITS = WEIGHTS != 0 ? $clog2(JOBS * WEIGHTS) : 1;
  localparam PACKET_BITS = WEIGHTS != 0 ? 497 : 369;
  localparam COMMAND_BITS = 2 * INDEX_BITS + 20 + (WEIGHTS != 0 ? KEY_BITS + 33 : 0);

  generate
    if (SLOTS < 16 || SLOTS > 32768 || (SLOTS & (SLOTS - 1)) != 0)
      $error("SLOTS is %0d: it must be a power of two from 16 to 32768", SLOTS);
    if (WORKERS != 8 && WORKERS != 16 && WORKERS != 32) $error("WORKERS is %0d: it must be 8, 16 or 32", WORKERS);
    if (JOBS < 1 || JOBS > 16 || (JOBS & (JOBS - 1)) != 0)
      $error("JOBS is %0d: it must be a power of two from 1 to 16", JOBS);
    if (WEIGHTS < 0 || WEIGHTS == 1 || WEIGHTS > 65536 || (WEIGHTS & (WEIGHTS - 1)) != 0)
      $error("WEIGHTS is %0d: it must be 0 or a power of two from 2 to 65536", WEIGHTS);
    if (BUFFER_BEATS < 64 || BUFFER_BEATS > 65536 || (BUFFER_BEATS & (BUFFER_BEATS - 1)) != 0)
      $error("BUFFER_BEATS is %0d: it must be a power of two from 64 to 65536", BUFFER_BEATS);
    if (LEASE_MS < 1 || LEASE_MS > 65535) $error("LEASE_MS is %0d: it must be from 1 to 65535", LEASE_MS);
    if (TICK_CYCLES < 1) $error("TICK_CYCLES is %0d: it must be at least 1", TICK_CYCLES);
    if (DROP_WHEN_FULL != 0 && DROP_WHEN_FULL != 1)
      $error("DROP_WHEN_FULL is %0d: it must be 0 or 1", DROP_WHEN_FULL);
  endgenerate

  // Time, in units of 100 us: it wraps after 892 years.
  localparam [31:0] LAST_CYCLE = TICK_CYCLES - 1;
  logic [31:0] cycle;
  logic [47:0] now;
  always_ff @(posedge clk) begin
    cycle <= cycle == LAST_CYCLE ? 32'd0 : cycle + 32'd1;
    if (cycle == LAST_CYCLE) now <= now + 48'd1;
    if (rst) begin
      cycle <= 32'd0;
      now <= TIME_AT_RESET;
    end
  end

  wire enabled;
  wire [47:0] own_mac;
  wire [31:0] own_ip;
  wire [15:0] own_port;
  wire receive_idle, control_idle, vector_idle, transmit_idle;
  wire [9:0] receive_events;
  wire [19:0] control_events;
  wire sent;
  assign idle = receive_idle && control_idle && vector_idle && transmit_idle;

  // Frames in.
  wire ring_write;
  wire [RING_BITS-1:0] ring_write_at, ring_read_at;
  wire [511:0] ring_write_data, ring_data;
  wire [RING_BITS:0] ring_taken;
  wire packet_valid, packet_take;
  wire [PACKET_BITS-1:0] packet;
  receive #(
      .RING_BITS(RING_BITS),
      .DROP_WHEN_FULL(DROP_WHEN_FULL),
      .PACKET_BITS(PACKET_BITS)
  ) receiver (
      .clk(clk),
      .rst(rst),
      .enabled(enabled),
      .own_mac(own_mac),
      .own_ip(own_ip),
      .own_port(own_port),
      .now(now),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tkeep(s_axis_tkeep),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tlast(s_axis_tlast),
      .s_axis_tuser(s_axis_tuser),
      .overflow(overflow),
      .ring_write(ring_write),
      .ring_write_at(ring_write_at),
      .ring_write_data(ring_write_data),
      .ring_taken(ring_taken),
      .packet_valid(packet_valid),
      .packet(packet),
      .packet_take(packet_take),
      .events(receive_events),
      .idle(receive_idle)
  );
  ram #(
      .WIDTH(512),
      .DEPTH_BITS(RING_BITS)
  ) ring (
      .clk(clk),
      .write(ring_write),
      .write_at(ring_write_at),
      .write_data(ring_write_data),
      .read(1'b1),
      .read_at(ring_read_at),
      .read_data(ring_data)
  );

  // Packets.
  wire command_put, command_full, order_put, order_full;
  wire [COMMAND_BITS-1:0] command;
  wire [321:0] order;
  wire end_job, end_job_done;
  wire [JOB_BITS-1:0] end_job_number;
  wire [JOBS-1:0] job_valid, job_in_order;
  wire [JOBS*32-1:0] job_nonce;
  wire [JOBS*8-1:0] job_size;
  wire [JOBS*16-1:0] job_slots;
  wire [JOBS*WORKERS-1:0] job_present;
  control #(
      .SLOTS(SLOTS),
      .WORKERS(WORKERS),
      .JOBS(JOBS),
      .LEASE_MS(LEASE_MS),
      .WORKER_BITS(WORKER_BITS),
      .JOB_BITS(JOB_BITS),
      .INDEX_BITS(INDEX_BITS),
      .WEIGHTS(WEIGHTS),
      .KEY_BITS(KEY_BITS),
      .PACKET_BITS(PACKET_BITS),
      .COMMAND_BITS(COMMAND_BITS)
  ) controller (
      .clk(clk),
      .rst(rst),
      .packet_valid(packet_valid),
      .packet(packet),
      .packet_take(packet_take),
      .command_put(command_put),
      .command(command),
      .command_full(command_full),
      .order_put(order_put),
      .order(order),
      .order_full(order_full),
      .end_job(end_job),
      .end_job_number(end_job_number),
      .end_job_done(end_job_done),
      .job_valid(job_valid),
      .job_nonce(job_nonce),
      .job_in_order(job_in_order),
      .job_size(job_size),
      .job_slots(job_slots),
      .job_present(job_present),
      .events(control_events),
      .idle(control_idle)
  );

  // Elements.
  wire [1:0] result;
  wire [3:0] result_beat;
  wire [511:0] result_data;
  wire result_valid, sum_taken, result_freed;
  wire [24:0] result_sum;
  vector_unit #(
      .INDEX_BITS(INDEX_BITS),
      .RING_BITS(RING_BITS),
      .WEIGHTS(WEIGHTS),
      .KEY_BITS(KEY_BITS),
      .COMMAND_BITS(COMMAND_BITS)
  ) vectors (
      .clk(clk),
      .rst(rst),
      .command_put(command_put),
      .command(command),
      .command_full(command_full),
      .ring_read_at(ring_read_at),
      .ring_data(ring_data),
      .ring_taken(ring_taken),
      .result(result),
      .result_beat(result_beat),
      .result_data(result_data),
      .result_valid(result_valid),
      .result_sum(result_sum),
      .sum_taken(sum_taken),
      .result_freed(result_freed),
      .idle(vector_idle)
  );

  // Frames out.
  transmit transmitter (
      .clk(clk),
      .rst(rst),
      .own_mac(own_mac),
      .own_ip(own_ip),
      .own_port(own_port),
      .order_put(order_put),
      .order(order),
      .order_full(order_full),
      .result(result),
      .result_beat(result_beat),
      .result_data(result_data),
      .result_valid(result_valid),
      .result_sum(result_sum),
      .sum_taken(sum_taken),
      .result_freed(result_freed),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tkeep(m_axis_tkeep),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tlast(m_axis_tlast),
      .sent(sent),
      .idle(transmit_idle)
  );
  assign m_axis_tuser = 1'b0;

  registers #(
      .SLOTS(SLOTS),
      .WORKERS(WORKERS),
      .JOBS(JOBS),
      .JOB_BITS(JOB_BITS),
      .WEIGHTS(WEIGHTS)
  ) file (
      .clk(clk),
      .rst(rst),
      .s_axil_awaddr(s_axil_awaddr),
      .s_axil_awprot(s_axil_awprot),
      .s_axil_awvalid(s_axil_awvalid),
      .s_axil_awready(s_axil_awready),
      .s_axil_wdata(s_axil_wdata),
      .s_axil_wstrb(s_axil_wstrb),
      .s_axil_wvalid(s_axil_wvalid),
      .s_axil_wready(s_axil_wready),
      .s_axil_bresp(s_axil_bresp),
      .s_axil_bvalid(s_axil_bvalid),
      .s_axil_bready(s_axil_bready),
      .s_axil_araddr(s_axil_araddr),
      .s_axil_arprot(s_axil_arprot),
      .s_axil_arvalid(s_axil_arvalid),
      .s_axil_arready(s_axil_arready),
      .s_axil_rdata(s_axil_rdata),
      .s_axil_rresp(s_axil_rresp),
      .s_axil_rvalid(s_axil_rvalid),
      .s_axil_rready(s_axil_rready),
      .enabled(enabled),
      .own_mac(own_mac),
      .own_ip(own_ip),
      .own_port(own_port),
      .end_job(end_job),
      .end_job_number(end_job_number),
      .end_job_done(end_job_done),
      .job_valid(job_valid),
      .job_nonce(job_nonce),
      .job_in_order(job_in_order),
      .job_size(job_size),
      .job_slots(job_slots),
      .job_present(job_present),
      .is_idle(idle),
      .events({control_events[19:16], sent, receive_events[9], control_events[15:0], receive_events[8:0]})
  );

endmodule
