/** The label in metrics of every name that no tool has: a model may ask for any name. */
export const unknownTool = '(unknown)';
