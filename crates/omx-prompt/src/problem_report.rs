//! Reports of problems with a mode, in languages that the grammar in `mention` does not
//! cover: the text after the name says that the mode does not work.

use crate::text::{eq_word, is_in_list, words};

/// Whether the text reports a problem with the name before it.
pub fn is_problem_report(rest: &str) -> bool {
    let mut all = words(rest);
    let first = all.next().unwrap_or("");
    let second = all.next().unwrap_or("");
    let rest_of_it = || PROBLEM_SCRIPTS.iter().any(|word| rest.contains(word));
    let asked_for = || FIX_REQUEST_SCRIPTS.iter().any(|word| rest.contains(word));
    let turkish = words(rest).last().is_some_and(|word| word.len() > 5 && word.ends_with("yor"));
    is_in_list(first, PROBLEM_VERBS)
        || PROBLEM_PAIRS.iter().any(|(one, two)| eq_word(first, one) && is_in_list(second, two))
        || turkish
        || rest_of_it() && !asked_for()
}

/// Verbs after a name that report a problem.
const PROBLEM_VERBS: &str = "\
    plante échoue bloque crashe crash freeze falla trava travou parou quebrou falha quebra fallisce \
    crasha werkt crasht hangt faalt hapert zawiesza wywala pada wisi crashar kraschar hänger kaatuu \
    stürzt scheitert spinnt бросает ломается сломался";

/// Pairs of words after a name that report a problem.
const PROBLEM_PAIRS: [(&str, &str); 14] = [
    ("no", "funciona arranca responde termina va puede sirve hace inicia"),
    ("nie", "działa startuje odpowiada kończy uruchamia"),
    ("não", "funciona inicia responde termina para"),
    ("non", "funziona parte risponde termina va si"),
    ("ne", "fonctionne marche démarre répond s'arrête"),
    ("не", "работает запускается отвечает останавливается"),
    ("start", "niet nicht"),
    ("doet", "niets het"),
    ("da", "error errores erro"),
    ("dá", "erro"),
    ("si", "blocca ferma pianta"),
    ("se", "cuelga bloquea queda para detiene trava"),
    ("gibt", "fehler einen"),
    ("geeft", "een fout"),
];

/// Words that report a problem, in scripts without spaces.
const PROBLEM_SCRIPTS: [&str; 12] = [
    "报错",
    "報錯",
    "崩溃",
    "崩潰",
    "坏了",
    "无法启动",
    "不工作",
    "卡住",
    "오류가",
    "안 돼",
    "안돼요",
    "멈춰요",
];

/// Words that turn a problem into a request to fix it, in scripts without spaces.
const FIX_REQUEST_SCRIPTS: [&str; 16] = [
    "请",
    "請",
    "修",
    "改",
    "解决",
    "解決",
    "加",
    "写",
    "实现",
    "고쳐",
    "수정",
    "해줘",
    "해 줘",
    "주세요",
    "만들",
    "추가",
];
