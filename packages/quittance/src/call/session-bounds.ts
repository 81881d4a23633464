/** The bounds of "approve for this session". */
export type SessionBounds = { readonly until: number; readonly uses: number };
