// SPDX-License-Identifier: Apache-2.0
//
// Registers of the device for a host: AXI-Lite. README.md has their table.
module registers #(
    parameter SLOTS = 512,
    parameter WORKERS = 32,
    parameter JOBS = 1,
    parameter WEIGHTS = 0,
    parameter JOB_BITS = 1
) (
    input  wire                     clk,
    input  wire                     rst,

    input  wire  [            11:0] s_axil_awaddr,
    input  wire  [             2:0] s_axil_awprot,
    input  wire                     s_axil_awvalid,
    output wire                     s_axil_awready,
    input  wire  [            31:0] s_axil_wdata,
    input  wire  [             3:0] s_axil_wstrb,
    input  wire                     s_axil_wvalid,
    output wire                     s_axil_wready,
    output wire  [             1:0] s_axil_bresp,
    output logic                    s_axil_bvalid,
    input  wire                     s_axil_bready,
    input  wire  [            11:0] s_axil_araddr,
    input  wire  [             2:0] s_axil_arprot,
    input  wire                     s_axil_arvalid,
    output wire                     s_axil_arready,
    output logic [            31:0] s_axil_rdata,
    output wire  [             1:0] s_axil_rresp,
    output logic                    s_axil_rvalid,
    input  wire                     s_axil_rready,

    output logic                    enabled,
    output logic [            47:0] own_mac,
    output logic [            31:0] own_ip,
    output logic [            15:0] own_port,

    output logic                    end_job,
    output logic [    JOB_BITS-1:0] end_job_number,
    input  wire                     end_job_done,
    input  wire  [        JOBS-1:0] job_valid,
    input  wire  [     JOBS*32-1:0] job_nonce,
    input  wire  [        JOBS-1:0] job_in_order,
    input  wire  [      JOBS*8-1:0] job_size,
    input  wire  [     JOBS*16-1:0] job_slots,
    input  wire  [JOBS*WORKERS-1:0] job_present,

    input  wire                     is_idle,
    input  wire  [            30:0] events
);

  localparam COUNTERS = 31;
  localparam [4:0] LAST_COUNTER = 5'd30;

  // Counters.
  logic [63:0] counters [0:COUNTERS-1];
  integer i;
  always_ff @(posedge clk)
    for (i = 0; i < COUNTERS; i = i + 1)
      if (rst) counters[i] <= 64'd0;
      else if (events[i]) counters[i] <= counters[i] + 64'd1;

  // Writes.
  wire writes = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_awready = writes;
  assign s_axil_wready = writes;
  assign s_axil_bresp = 2'd0;
  localparam [31:0] JOB_COUNT = JOBS;
  function automatic [31:0] merged(input [31:0] old);
    merged = {
      s_axil_wstrb[3] ? s_axil_wdata[31:24] : old[31:24], s_axil_wstrb[2] ? s_axil_wdata[23:16] : old[23:16],
      s_axil_wstrb[1] ? s_axil_wdata[15:8] : old[15:8], s_axil_wstrb[0] ? s_axil_wdata[7:0] : old[7:0]
    };
  endfunction
  wire [31:0] new_control = merged({31'd0, enabled});
  wire [31:0] new_mac_end = merged(own_mac[31:0]);
  wire [31:0] new_mac_start = merged({16'd0, own_mac[47:32]});
  wire [31:0] new_ip = merged(own_ip);
  wire [31:0] new_port = merged({16'd0, own_port});
  always_ff @(posedge clk) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (end_job_done) end_job <= 1'b0;
    if (writes) begin
      s_axil_bvalid <= 1'b1;
      case (s_axil_awaddr[11:2])
        10'h004: enabled <= new_control[0];
        10'h005: own_mac[31:0] <= new_mac_end;
        10'h006: own_mac[47:32] <= new_mac_start[15:0];
        10'h007: own_ip <= new_ip;
        10'h008: own_port <= new_port[15:0];
        10'h009:
        if (s_axil_wdata < JOB_COUNT && !end_job) begin
          end_job <= 1'b1;
          end_job_number <= s_axil_wdata[JOB_BITS-1:0];
        end
        default: ;
      endcase
    end
    if (rst) begin
      s_axil_bvalid <= 1'b0;
      enabled <= 1'b0;
      own_mac <= 48'd0;
      own_ip <= 32'd0;
      own_port <= 16'd0;
      end_job <= 1'b0;
      end_job_number <= 0;
    end
  end

  // Reads.
  localparam [15:0] SLOT_COUNT = SLOTS[15:0];
  localparam [15:0] SLOTS_IN_ORDER = SLOTS[18:3];
  localparam [31:0] WEIGHT_COUNT = WEIGHTS;
  localparam [7:0] WORKER_COUNT = WORKERS[7:0];
  wire reads = s_axil_arvalid && !s_axil_rvalid;
  assign s_axil_arready = reads;
  assign s_axil_rresp = 2'd0;
  wire [9:0] number = s_axil_araddr[11:2];
  wire [JOB_BITS-1:0] job = number[JOB_BITS+1:2];
  wire is_job = number[9:6] == 4'd1 && {28'd0, number[5:2]} < JOB_COUNT;
  wire [4:0] counter = number[5:1];
  wire is_counter = number[9:6] == 4'd2 && counter <= LAST_COUNTER;
  logic [31:0] upper_half;
  always_ff @(posedge clk) begin
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (reads) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rdata <= 32'd0;
      if (is_counter) begin
        s_axil_rdata <= number[0] ? upper_half : counters[counter][31:0];
        if (!number[0]) upper_half <= counters[counter][63:32];
      end else if (is_job) begin
        case (number[1:0])
          2'd0: s_axil_rdata <= job_nonce[32*job+:32];
          2'd1: s_axil_rdata <= {job_valid[job], 22'd0, job_in_order[job], job_size[8*job+:8]};
          2'd2: s_axil_rdata <= {16'd0, job_slots[16*job+:16]};
          default: s_axil_rdata <= {{(32 - WORKERS) {1'b0}}, job_present[WORKERS*job+:WORKERS]};
        endcase
      end else begin
        case (number)
          10'h000: s_axil_rdata <= 32'h74757474;
          10'h001: s_axil_rdata <= 32'h00010001;
          10'h002: s_axil_rdata <= {JOB_COUNT[7:0], WORKER_COUNT, SLOT_COUNT};
          10'h003: s_axil_rdata <= {8'd0, SLOTS_IN_ORDER, 8'd16};
          10'h004: s_axil_rdata <= {30'd0, is_idle, enabled};
          10'h005: s_axil_rdata <= own_mac[31:0];
          10'h006: s_axil_rdata <= {16'd0, own_mac[47:32]};
          10'h007: s_axil_rdata <= own_ip;
          10'h008: s_axil_rdata <= {16'd0, own_port};
          10'h009: s_axil_rdata <= {31'd0, end_job};
          10'h00a: s_axil_rdata <= WEIGHT_COUNT;
          default: ;
        endcase
      end
    end
    if (rst) s_axil_rvalid <= 1'b0;
  end

  wire unused = &{1'b0, s_axil_awprot, s_axil_arprot, s_axil_awaddr[1:0], s_axil_araddr[1:0], new_control[31:1],
                  new_mac_start[31:16], new_port[31:16]};

endmodule
