// SPDX-License-Identifier: Apache-2.0
//
// Checks the first 64 bytes of a frame: a UDP datagram to this device.
module frame_check (
    input  wire [511:0] data,
    input  wire         enabled,
    input  wire [ 47:0] own_mac,
    input  wire [ 31:0] own_ip,
    input  wire [ 15:0] own_port,
    output wire [ 47:0] mac,          // the sender's
    output wire [ 31:0] ip,
    output wire [ 15:0] port,
    output wire [ 15:0] total_length, // IPv4's
    output wire [ 15:0] udp_length,
    output wire         has_udp_sum,
    output wire         congested,
    output wire         addressed,    // to this device, valid if the frame is long enough
    output wire         plain         // no options, no fragment, and consistent lengths
);

  function automatic [15:0] word(input [15:0] bytes);
    word = {bytes[7:0], bytes[15:8]};
  endfunction
  wire [47:0] to_mac = {word(data[15:0]), word(data[31:16]), word(data[47:32])};
  wire [15:0] ether_type = word(data[111:96]);
  wire [15:0] fragment = word(data[175:160]);
  wire [31:0] to_ip = {word(data[255:240]), word(data[271:256])};

  assign mac = {word(data[63:48]), word(data[79:64]), word(data[95:80])};
  assign ip = {word(data[223:208]), word(data[239:224])};
  assign port = word(data[287:272]);
  assign total_length = word(data[143:128]);
  assign udp_length = word(data[319:304]);
  assign has_udp_sum = data[335:320] != 16'd0;
  assign congested = data[121:120] == 2'd3;
  assign addressed = enabled && to_mac == own_mac && ether_type == 16'h0800 && data[119:116] == 4'd4 &&
                     data[191:184] == 8'd17 && to_ip == own_ip && word(data[303:288]) == own_port;
  assign plain = data[115:112] == 4'd5 && fragment[13:0] == 14'd0 &&
                 {1'b0, total_length} == {1'b0, udp_length} + 17'd20;

  wire unused = &{1'b0, data[127:122], data[159:144], data[183:176], data[207:192], data[511:336], fragment[15:14]};

endmodule
