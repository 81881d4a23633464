/** How the console presents the ledger: its name and color, the currency of costs, and the consoles of other ledgers. */
export type ConsoleView = {
  /** Missing if the ledger was given no name. */
  readonly name: string | undefined;
  readonly color: ConsoleColor;
  /** ISO 4217. Missing if costs have no currency. */
  readonly currency: string | undefined;
  readonly others: readonly OtherConsole[];
};
export type OtherConsole = { readonly name: string; readonly color: ConsoleColor; readonly url: string };
export type ConsoleColor = 'gray' | 'red' | 'orange' | 'green' | 'blue' | 'purple';
