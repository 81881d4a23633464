/** A long path is known by its end. */
export const baseName = (path: string): string => path.split(/[\\/]/).at(-1) || path;
