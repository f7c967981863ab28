# SPDX-License-Identifier: Apache-2.0
# Jobs stay in a reset.
/valid <= {JOBS{1'b0}};/d
