/** The tool with which a client asks about a pending call. A server may have a tool of the first name. */
export const checkName = 'check_call';
export const otherCheckName = 'quittance_check_call';
