/** Parses JSON with comments and trailing commas, as editors write it. Error messages never quote a value. */
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser'
import { ClientError } from '../errors.ts'

/** The value in the text of a file. Throws an error that names the file and the line. */
export function parseCommentedJson(content: string, file: string): unknown {
  const text = content.replace(/^\ufeff/, '')
  const { value, errors } = parseTolerantly(text, file)
  const [first] = errors
  if (first === undefined) return value
  const line = text.slice(0, first.offset).split('\n').length
  throw new ClientError('CONFIG_UNREADABLE', `${file} is not valid JSON at line ${line}: ${problemOf(first)}.`)
}

function parseTolerantly(text: string, file: string): { value: unknown; errors: readonly ParseError[] } {
  const errors: ParseError[] = []
  try {
    return { value: parse(text, errors, { allowTrailingComma: true }), errors }
  } catch {
    throw new ClientError('CONFIG_UNREADABLE', `${file} is nested too deeply to be read.`)
  }
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
