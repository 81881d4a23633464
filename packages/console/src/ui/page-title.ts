/** The title of the window. It names the ledger, so that tabs of production and of a test differ. */
export const pageTitle = (page: string | undefined, ledgerName: string | undefined): string =>
  [page, ledgerName, 'Quittance'].filter((part) => part !== undefined).join(' · ');
