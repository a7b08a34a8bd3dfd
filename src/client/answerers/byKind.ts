import type { Answerer, Answerers } from '../questions/answerer.ts'
import { answererFor } from '../questions/kinds.ts'
import { noneFor } from '../questions/response.ts'

/** One answerer of several: each question goes to the one for its kind. For `resume`, which takes one for all. */
export function byKind(answerers: Answerers): Answerer {
  return (asked) => {
    const answerer = answererFor(asked.request, answerers)
    if (answerer === undefined) throw noneFor(asked.key, asked.request)
    return answerer(asked)
  }
}
