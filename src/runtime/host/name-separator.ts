/** Between the name of a token and that of its worker. Neither may contain it, so that different pairs have different names. */
export const nameSeparator = '/';
