/** Enough of a digest to tell two apart by eye, without the name of its kind. */
export const shortDigest = (digest: string): string => {
  const rest = digest.replace(/^[\w-]+:/, '');
  return rest.length <= 16 ? rest : `${rest.slice(0, 12)}…`;
};
