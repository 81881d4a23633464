/**
 * Ids of sessions and calls stand in addresses, in paths and in file names of those who export them. `.` and `..` mean
 * a folder there, and no encoding changes that: browsers and servers drop them. Such an id could never be reached.
 */
export const isDotSegment = (id: string): boolean => id === '.' || id === '..';
