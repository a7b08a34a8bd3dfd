/**
 * What a script is told of its answers. It reads no question, so it would not learn why one was refused, asked again or
 * declined.
 */
import { type Answerer, type Asked, ClientError, plainLine, refuse } from '../../client/index.ts'
import { fieldsWithoutDefault } from '../../client/internal.ts'
import { NOT_ACCEPTED } from '../../protocol/index.ts'

type Note = (text: string) => void

/**
 * Fails where a server asks again because it did not accept the answer: it would get the same one each time. A question
 * that is asked again for another reason is answered again, and shown.
 */
export function failingWhenRefused(answerer: Answerer, note: Note): Answerer {
  const answered = new Map<string, string>()
  return (asked) => {
    const { text, refusal } = messageOf(asked)
    const id = asked.isPushed ? text : asked.key
    const before = answered.get(id)
    if (before !== undefined && refusal !== undefined) throw notAccepted(asked, refusal)
    if (before !== undefined && before !== text) note(`note: ${nameOf(asked)} is asked again: ${plainLine(text, 500)}`)
    answered.set(id, text)
    return answerer(asked)
  }
}

function messageOf({ request }: Asked): { readonly text: string; readonly refusal: string | undefined } {
  const message = request.method === 'elicitation/create' ? request.params.message : ''
  const [text = '', refusal] = message.split(`\n\n${NOT_ACCEPTED} `)
  return { text, refusal }
}

function notAccepted(asked: Asked, refusal: string): ClientError {
  const sentence = `The server did not accept the answer to ${nameOf(asked)}: ${plainLine(refusal, 500)}`
  return new ClientError('RESPONSE_INVALID', sentence)
}

/** Declines what --yes cannot answer, and says why. */
export function decliningWithReason(note: Note): Answerer {
  const decline = refuse()
  return (asked) => {
    if (asked.request.method === 'elicitation/create')
      note(`note: --yes declines ${nameOf(asked)}: ${reasonOf(asked)} Give an answer with --answers.`)
    return decline(asked)
  }
}

function reasonOf({ request }: Asked): string {
  const fields = fieldsWithoutDefault(request).map((name) => plainLine(name, 60))
  if (fields.length === 0) return 'it is a page that a person has to visit.'
  return `${fields.join(', ')} ${fields.length === 1 ? 'has no default value' : 'have no default values'}.`
}

/** Questions of the session era have no keys. */
function nameOf({ key, isPushed }: Asked): string {
  return isPushed ? 'a question' : `the question "${plainLine(key, 60)}"`
}
