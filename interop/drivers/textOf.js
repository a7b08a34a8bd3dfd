/** The text of a tool's result. Throws it where the result is an error. */
export function textOf({ content, isError }) {
  const text = (content ?? []).map((block) => block.text ?? block.type).join(' ')
  if (isError) throw new Error(text)
  return text
}
