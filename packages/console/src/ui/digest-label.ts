/** Enough of a digest to compare by eye, without its algorithm prefix. */
export const digestLabel = (digest: string): string => {
  const rest = digest.replace(/^[\w-]+:/, '');
  return rest.length <= 16 ? rest : `${rest.slice(0, 12)}…`;
};
