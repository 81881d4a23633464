/** Whether who asks has seen what the tag stands for. Weak tags count: it is for reading, not for changing. */
export function isKnown(headers: Headers, etag: string): boolean {
  const known = (headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}
