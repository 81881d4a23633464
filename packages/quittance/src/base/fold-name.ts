/**
 * One form for all spellings of a name that some file system or program treats as the same. It covers case, composed
 * letters, full-width and other compatibility forms, and characters without a width.
 *
 * Compare folded names only to refuse. To allow, compare the names as written.
 */
export function foldName(name: string): string {
  if (smallAscii.test(name)) return name;
  // Upper case first: `ß` and `SS` become `ss`. What it changes may have another compatibility form, so twice.
  const fold = (text: string): string =>
    text.normalize('NFKC').replace(invisible, '').toUpperCase().toLowerCase();
  return fold(fold(name)).replaceAll('ς', 'σ').normalize('NFC');
}

/** ASCII without capitals and control characters: folding changes nothing in it. */
const smallAscii = /^[ -@[-~]*$/;

/** File systems of macOS ignore these, and a person does not see them. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;
