/** Anchors of headings as GitHub makes them, so that a link works there, in the site and in the package. */

/** The anchor of a heading, before repeated ones are numbered. */
export const toAnchor = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`\\]/g, '')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/** Anchors of all headings of a page, in order. A repeated one gets a number. */
export function findHeadings(markdown: string): readonly string[] {
  const seen = new Map<string, number>();
  return [...markdown.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#{1,6} (.+)$/gm)].map(
    ([, heading = '']) => {
      const anchor = toAnchor(heading);
      const count = seen.get(anchor) ?? 0;
      seen.set(anchor, count + 1);
      return count === 0 ? anchor : `${anchor}-${count}`;
    },
  );
}
