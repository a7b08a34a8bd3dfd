export { contentProblems, defaultOf, FORMAT_EXAMPLES, problemOf, readTyped, type Typed } from './fieldCheck.ts'
export {
  type BooleanField,
  type ChoiceField,
  type ChoicesField,
  type Field,
  type FieldValue,
  type NumberField,
  readFields,
  type TextField,
} from './fields.ts'
export { readForm } from './formData.ts'
export { outcomeSentence } from './outcome.ts'
export { noticePage, PAGE_STYLE, questionPage } from './page.ts'
export { isPlainLine, plainLine, plainLines, plainText, wholeLines } from './safeText.ts'
