/** Error messages of the command-line parser, reworded, with a reference to --help. */

/** `message` is commander's message, `command` the full name, such as `pannier jar list`. The result contains no option value. */
export function usageText(message: string, command: string): string {
  const [first = '', ...rest] = message
    .trim()
    .replace(/^error: /, '')
    .split('\n')
  const suggestion = /^\(Did you mean (.*)\?\)$/.exec(rest.join(' '))?.[1]
  const see = suggestion === undefined ? '; see' : `; did you mean ${suggestion}? See`
  return `error: ${reworded(first)}${see} "${command} --help".\n`
}

function reworded(message: string): string {
  for (const [pattern, words] of REWORDED) {
    const found = pattern.exec(message)
    if (found !== null) return words(found[1] ?? '', found[2] ?? '')
  }
  return 'This command line cannot be read'
}

const REWORDED: readonly (readonly [pattern: RegExp, words: (first: string, second: string) => string])[] = [
  // Cut at "=": a value may follow.
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

/** Hides long words: a key may have been typed in place of a command or an option. */
export function hideLongWords(text: string): string {
  return text.replace(/[\w+/=-]{30,}/g, '[hidden]')
}
