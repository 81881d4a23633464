/** Which arguments of a tool name things outside: dotted paths into the arguments, `*` for every element of a list. */
export type ToolResources = {
  readonly paths?: readonly string[] | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
};
