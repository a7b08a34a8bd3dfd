/** What the parser of the command line says about it, in the words of this program, and where to read on. */

/** `said` as commander gives it; `command` in whole, such as `pannier jar list`. Nothing of a value is in it. */
export function usageText(said: string, command: string): string {
  const [first = '', ...rest] = said
    .trim()
    .replace(/^error: /, '')
    .split('\n')
  const suggestion = /^\(Did you mean (.*)\?\)$/.exec(rest.join(' '))?.[1]
  const see = suggestion === undefined ? '; see' : `; did you mean ${suggestion}? See`
  return `error: ${ownWords(first)}${see} "${command} --help".\n`
}

function ownWords(said: string): string {
  for (const [pattern, words] of WORDS) {
    const found = pattern.exec(said)
    if (found !== null) return words(found[1] ?? '', found[2] ?? '')
  }
  return 'This command line cannot be read'
}

const WORDS: readonly (readonly [pattern: RegExp, words: (first: string, second: string) => string])[] = [
  // The value of an option may stand right after it.
  [/^unknown option '(--[^'=\n]*|-[^'\n]?)/, (option) => `There is no option ${option}`],
  [/^unknown command '(.*)'$/, (name) => `There is no command "${name}"`],
  [/^missing required argument '(.*)'$/, (name) => `${name.toUpperCase()} is missing`],
  [
    /^too many arguments.* Expected (\d+)/,
    (count) => `There are too many operands, this command takes ${countOf(count)}`,
  ],
  [/^option '(\S+)( [^']*)?' argument missing$/, (option, value) => `Give a value with it: ${option}${value}`],
  [/^option '(\S+).*' is invalid\. Allowed choices are (.*)\.$/, (option, all) => `${option} is one of ${all}`],
]

function countOf(count: string): string {
  return count === '0' ? 'none' : `only ${count}`
}

/** Hides every long word, in case a key was typed where a command or an option belongs. */
export function withoutSecrets(text: string): string {
  return text.replace(/[\w+/=-]{30,}/g, '[hidden]')
}
