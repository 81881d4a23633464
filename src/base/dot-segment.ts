/**
 * Ids of sessions and calls occur in URLs, paths and exported file names. `.` and `..` mean a folder there, and no
 * encoding changes that: browsers and servers drop them. Such an id could never be reached.
 */
export const isDotSegment = (id: string): boolean => id === '.' || id === '..';
