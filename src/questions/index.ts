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
export { loginPage, noticePage, PAGE_STYLE, questionPage, visitorPage } from './page.ts'
export { isPlainLine, plainLine, plainLines, plainText, wholeLines } from './safeText.ts'
