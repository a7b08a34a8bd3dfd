/** Edits of object literals that leave the rest unchanged. */
import type { CallExpression, Node, ObjectExpression, ObjectProperty } from 'oxc-parser'
import type { Range, Source } from './source.ts'

/** Puts a property before all others. */
export function addProperty(source: Source, object: ObjectExpression, text: string): void {
  const [first] = object.properties
  if (first === undefined) return source.insert(object.start + 1, ` ${text} `)
  const gap = source.text.slice(object.start + 1, first.start)
  const indent = gap.includes('\n') ? `\n${indentAt(source, first.start)}` : ' '
  source.insert(first.start, `${text},${indent}`)
}

/** Gives a property another name; `{ a }` becomes `{ b: a }`. */
export function renameProperty(source: Source, property: ObjectProperty, name: string): void {
  if (property.shorthand) source.insert(property.start, `${name}: `)
  else source.replace(property.key, name)
}

/** Takes a property out, with its comma, its line and the comments in the lines above it. */
export function removeProperty(source: Source, property: ObjectProperty): void {
  source.replace(lineOf(source, property), '')
}

function lineOf(source: Source, property: Node): Range {
  const { text } = source
  const after = /^[ \t]*,?(?:[ \t]*\/\/[^\n]*)?/.exec(text.slice(property.end))?.[0].length ?? 0
  let end = property.end + after
  let start = property.start
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const isAlone = text.slice(lineStart, start).trim() === ''
  if (!isAlone) return { start, end: end + (/^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0) }
  if (text[end] === '\n' || text.startsWith('\r\n', end)) end += text[end] === '\r' ? 2 : 1
  else return { start, end }
  start = lineStart
  for (;;) {
    const previous = text.lastIndexOf('\n', start - 2) + 1
    if (start < 2 || !/^\s*\/\//.test(text.slice(previous, start))) return { start, end }
    start = previous
  }
}

export function indentAt(source: Source, offset: number): string {
  const lineStart = source.text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(source.text.slice(lineStart))?.[0] ?? ''
}

/** The text of a node at another indentation. Lines of a template literal keep their indentation. */
export function shifted(source: Source, node: Node, to: string): string {
  const from = indentAt(source, node.start)
  const text = source.render(node)
  const literal = source.within(node).some((one) => one.type === 'TemplateElement' && source.textOf(one).includes('\n'))
  if (literal || from === to) return text
  return text.replaceAll(`\n${from}`, `\n${to}`)
}

/** Takes a statement out, with its line. */
export function removeStatement(source: Source, statement: Node): void {
  const { text } = source
  const lineStart = text.lastIndexOf('\n', statement.start - 1) + 1
  const isAlone = text.slice(lineStart, statement.start).trim() === ''
  const rest = /^[ \t]*;?[ \t]*\r?\n/.exec(text.slice(statement.end))?.[0].length
  if (isAlone && rest !== undefined) source.replace({ start: lineStart, end: statement.end + rest }, '')
  else source.replace(statement, '')
}

/** A string as the file writes its own. */
export function quoted(source: Source, text: string): string {
  const [single, double] = ["'", '"'].map((mark) => source.text.split(mark).length)
  return (double ?? 0) > (single ?? 0) ? JSON.stringify(text) : `'${text.replaceAll("'", "\\'")}'`
}

/** Adds a statement on its own line after another statement. */
export function addAfter(source: Source, statement: Node, text: string): void {
  const isEnded = source.text[statement.end - 1] === ';'
  source.insert(statement.end, `\n${indentAt(source, statement.start)}${text}${isEnded ? ';' : ''}`)
}

/** The SDK's promise has no counterpart here: the work is done at once. */
export function dropAwait(source: Source, call: Node): void {
  const parent = source.parentOf(call)
  if (parent?.type === 'AwaitExpression') source.replace({ start: parent.start, end: call.start }, '')
}

/** Gives the method that a call names another name. */
export function renameCall(source: Source, call: CallExpression, name: string): void {
  if (call.callee.type === 'MemberExpression') source.replace(call.callee.property, name)
}
