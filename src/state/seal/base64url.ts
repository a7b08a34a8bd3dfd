/**
 * Reads base64url, and only its one canonical spelling. `Buffer.from` skips characters it does not know, takes the
 * `+/` alphabet and padding too, and ignores stray last bits; writing the bytes again shows every such liberty.
 */
export function readBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
