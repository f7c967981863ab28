# SPDX-License-Identifier: Apache-2.0
# Terms of an update may differ.
s/wire differs_in_terms = .*/wire differs_in_terms = 1'b0;/
