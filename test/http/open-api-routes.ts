/** The routes of the server's own description. */
export type OpenApiRoute = {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly schema: { readonly [name: string]: unknown };
  }[];
  readonly hasBody: boolean;
};

type Operation = {
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema: { readonly [name: string]: unknown };
  }[];
  readonly requestBody?: unknown;
};

export function routesIn(description: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}): readonly OpenApiRoute[] {
  return Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      parameters: parameters.filter((each) => each.in === 'query'),
      hasBody: requestBody !== undefined,
    })),
  );
}
