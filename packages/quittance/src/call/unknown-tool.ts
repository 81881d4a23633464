/** The label in metrics for all unknown tool names: a model may request any name. */
export const unknownTool = '(unknown)';
