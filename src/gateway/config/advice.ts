/** Commands in advice to an operator, quoted for a shell. */

/** Quotes a path or a name. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (/^[\w@%+=:,./\\#-]+$/.test(word)) return word
  return platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * The command that accepts changed definitions of these tools and servers; without names, the command that shows what
 * can be accepted.
 */
export function acceptCommand(file: string | undefined, names: readonly string[] = []): string {
  const config = file === undefined ? [] : ['--config', file]
  return ['pannier gateway accept', ...[...config, ...names].map((word) => shellWord(word))].join(' ')
}
