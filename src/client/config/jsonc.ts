/** Parses JSON with comments and trailing commas, as editors write it. Error messages never quote a value. */
import { type Node, type ParseError, type ParseOptions, parse, parseTree, printParseErrorCode } from 'jsonc-parser'
import { ClientError } from '../errors.ts'

/** The value in the text of a file. Throws an error that names the file and the line. */
export function parseCommentedJson(content: string, file: string): unknown {
  return parseWith<unknown>(parse, withoutMark(content), file)
}

/** The same as a tree, which knows where everything stands in the text, and how often. */
export function parseCommentedTree(content: string, file: string): CommentedTree {
  const text = withoutMark(content)
  const root = parseWith(parseTree, text, file)
  let starts: readonly number[] | undefined
  return { root, lineAt: (offset) => lineIn((starts ??= lineStarts(text)), offset) }
}

export interface CommentedTree {
  readonly root: Node | undefined
  readonly lineAt: (offset: number) => number
}

type Parse<Parsed> = (text: string, errors: ParseError[], options: ParseOptions) => Parsed

function parseWith<Parsed>(parseText: Parse<Parsed>, text: string, file: string): Parsed {
  if (text.trim() === '')
    throw new ClientError('CONFIG_UNREADABLE', `${file} is empty; it needs servers under "mcpServers".`)
  const errors: ParseError[] = []
  const parsed = parseShallow(() => parseText(text, errors, { allowTrailingComma: true }), file)
  const [first] = errors
  if (first === undefined) return parsed
  const sentence = `${file} is not valid JSON at line ${lineIn(lineStarts(text), first.offset)}: ${problemOf(first)}.`
  throw new ClientError('CONFIG_UNREADABLE', sentence)
}

function parseShallow<Parsed>(run: () => Parsed, file: string): Parsed {
  try {
    return run()
  } catch {
    throw new ClientError('CONFIG_UNREADABLE', `${file} is nested too deeply to be read.`)
  }
}

function withoutMark(content: string): string {
  return content.replace(/^\ufeff/, '')
}

/** Where each line begins. */
function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
}

/** The number of the line that an offset is in: how many begin there or before, by bisection. */
function lineIn(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function problemOf({ error }: ParseError): string {
  return PROBLEMS[printParseErrorCode(error)]
}

const PROBLEMS: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'there is an unknown word; text must be in double quotes',
  InvalidNumberFormat: 'a number is expected there',
  PropertyNameExpected: 'a name in double quotes is expected there',
  ValueExpected: 'a value is expected there',
  ColonExpected: 'a colon is expected there',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing brace } is expected there',
  CloseBracketExpected: 'a closing bracket ] is expected there',
  EndOfFileExpected: 'the end of the file is expected there',
  InvalidCommentToken: 'a comment is not expected there',
  UnexpectedEndOfComment: 'the end of a comment */ is missing',
  UnexpectedEndOfString: 'a closing double quote is missing',
  UnexpectedEndOfNumber: 'a digit is expected there',
  InvalidUnicode: 'four hexadecimal digits are expected after \\u',
  InvalidEscapeCharacter:
    'there is a backslash before a character that cannot be escaped; write \\\\ for one backslash',
  InvalidCharacter: 'a control character, such as a tab, must be written as an escape',
  '<unknown ParseErrorCode>': 'there is something that is not JSON',
}
