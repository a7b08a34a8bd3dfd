/** Commands that an operator is advised to type, as a shell takes them. */

/** A word of a command: a path or a name. */
export function shellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (/^[\w@%+=:,./\\#-]+$/.test(word)) return word
  return platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Accepts changed definitions of these tools and servers; without any, shows those that wait. */
export function acceptCommand(file: string | undefined, names: readonly string[] = []): string {
  const config = file === undefined ? [] : ['--config', file]
  return ['pannier gateway accept', ...[...config, ...names].map((word) => shellWord(word))].join(' ')
}
