/**
 * Which arguments of a tool name things outside: dotted paths into the arguments, `*` for every element of a list or
 * member of a map. A tool that has this is judged by what it lists and by nothing else.
 */
export type ToolResources = {
  readonly paths?: readonly string[] | undefined;
  /** A text is read as a shell reads it; a list is the words of one command. */
  readonly commands?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
};
