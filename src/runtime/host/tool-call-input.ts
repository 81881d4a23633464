/** A tool call as a model writes it. The arguments may be JSON text. */
export type ToolCallInput = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
};
