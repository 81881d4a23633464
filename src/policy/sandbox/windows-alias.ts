/**
 * Names that Windows does not use as they are written. It drops dots and spaces at the end. It opens a device for reserved
 * names, in any folder and with any extension. It reads the text after a colon as a stream of the file.
 */
const devices =
  /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[\d\u00b9\u00b2\u00b3])[ ]*(?:[.:].*)?$/i;

export function isWindowsAlias(part: string): boolean {
  if (part === '.' || part === '..') return false;
  return /[. ]$/.test(part) || part.includes(':') || devices.test(part);
}
