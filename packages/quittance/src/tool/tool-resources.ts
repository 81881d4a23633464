/**
 * The arguments of a tool that name outside resources, as dotted paths. `*` stands for every element of a list or
 * member of a map. If a tool declares this, only these are judged.
 */
export type ToolResources = {
  readonly paths?: readonly string[] | undefined;
  /** A text is read as a shell reads it; a list contains the words of one command. */
  readonly commands?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
};
