/** The code of the guide "Approve calls by rule". */
import type { Gateway } from 'pannier/gateway'
import type { Principal } from 'pannier/server'

// #region inbox
/** What one person has to approve, as lines of your own page. */
export async function inbox(gateway: Gateway, person: Principal): Promise<string[]> {
  const { questions } = await gateway.questions.open({ for: person })
  return questions.map(({ id, tool, caller }) => `${id} ${caller} calls ${tool}`)
}

export async function approve(gateway: Gateway, id: string, person: Principal): Promise<void> {
  await gateway.questions.answer(id, { approve: true }, person)
}
// #endregion inbox
