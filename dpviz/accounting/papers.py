"""BibTeX of the papers that accountants rest on, each once."""

from __future__ import annotations

DWORK_2006 = """@inproceedings{dwork2006,
  title = {Our Data, Ourselves: Privacy via Distributed Noise Generation},
  author = {Dwork, Cynthia and Kenthapadi, Krishnaram and McSherry, Frank and Mironov, Ilya and Naor, Moni},
  booktitle = {Advances in Cryptology (EUROCRYPT)},
  year = {2006}
}"""
DWORK_2010 = """@inproceedings{dwork2010,
  title = {Boosting and Differential Privacy},
  author = {Dwork, Cynthia and Rothblum, Guy N. and Vadhan, Salil},
  booktitle = {IEEE Symposium on Foundations of Computer Science (FOCS)},
  pages = {51--60},
  year = {2010}
}"""
DWORK_ROTH_2014 = """@article{dworkroth2014,
  title = {The Algorithmic Foundations of Differential Privacy},
  author = {Dwork, Cynthia and Roth, Aaron},
  journal = {Foundations and Trends in Theoretical Computer Science},
  volume = {9},
  number = {3--4},
  pages = {211--407},
  year = {2014}
}"""
ABADI_2016 = """@inproceedings{abadi2016,
  title = {Deep Learning with Differential Privacy},
  author = {Abadi, Martín and Chu, Andy and Goodfellow, Ian and McMahan, H. Brendan and Mironov, Ilya and
            Talwar, Kunal and Zhang, Li},
  booktitle = {ACM Conference on Computer and Communications Security (CCS)},
  pages = {308--318},
  year = {2016}
}"""
MIRONOV_2017 = """@inproceedings{mironov2017,
  title = {Rényi Differential Privacy},
  author = {Mironov, Ilya},
  booktitle = {IEEE Computer Security Foundations Symposium (CSF)},
  pages = {263--275},
  year = {2017}
}"""
MIRONOV_2019 = """@article{mironov2019,
  title = {Rényi Differential Privacy of the Sampled Gaussian Mechanism},
  author = {Mironov, Ilya and Talwar, Kunal and Zhang, Li},
  journal = {arXiv:1908.10530},
  year = {2019}
}"""
BALLE_2020 = """@inproceedings{balle2020,
  title = {Hypothesis Testing Interpretations and Rényi Differential Privacy},
  author = {Balle, Borja and Barthe, Gilles and Gaboardi, Marco and Hsu, Justin and Sato, Tetsuya},
  booktitle = {International Conference on Artificial Intelligence and Statistics (AISTATS)},
  year = {2020}
}"""
CANONNE_2020 = """@inproceedings{canonne2020,
  title = {The Discrete Gaussian for Differential Privacy},
  author = {Canonne, Clément L. and Kamath, Gautam and Steinke, Thomas},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2020}
}"""
ROGERS_2016 = """@inproceedings{rogers2016,
  title = {Privacy Odometers and Filters: Pay-as-you-Go Composition},
  author = {Rogers, Ryan and Roth, Aaron and Ullman, Jonathan and Vadhan, Salil},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2016}
}"""
KOSKELA_2020 = """@inproceedings{koskela2020,
  title = {Computing Tight Differential Privacy Guarantees Using FFT},
  author = {Koskela, Antti and Jälkö, Joonas and Honkela, Antti},
  booktitle = {International Conference on Artificial Intelligence and Statistics (AISTATS)},
  year = {2020}
}"""
TRIASTCYN_2020 = """@inproceedings{triastcyn2020,
  title = {Bayesian Differential Privacy for Machine Learning},
  author = {Triastcyn, Aleksei and Faltings, Boi},
  booktitle = {International Conference on Machine Learning (ICML)},
  year = {2020}
}"""
GOPI_2021 = """@inproceedings{gopi2021,
  title = {Numerical Composition of Differential Privacy},
  author = {Gopi, Sivakanth and Lee, Yin Tat and Wutschitz, Lukas},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2021}
}"""
FELDMAN_2021 = """@inproceedings{feldman2021,
  title = {Individual Privacy Accounting via a Rényi Filter},
  author = {Feldman, Vitaly and Zrnic, Tijana},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS)},
  year = {2021}
}"""
LECUYER_2021 = """@article{lecuyer2021,
  title = {Practical Privacy Filters and Odometers with Rényi Differential Privacy and Applications to Differentially
           Private Deep Learning},
  author = {Lécuyer, Mathias},
  journal = {arXiv:2103.01379},
  year = {2021}
}"""
DOROSHENKO_2022 = """@article{doroshenko2022,
  title = {Connect the Dots: Tighter Discrete Approximations of Privacy Loss Distributions},
  author = {Doroshenko, Vadym and Ghazi, Badih and Kamath, Pritish and Kumar, Ravi and Manurangsi, Pasin},
  journal = {Proceedings on Privacy Enhancing Technologies (PoPETs)},
  year = {2022}
}"""
ZHU_2022 = """@inproceedings{zhu2022,
  title = {Optimal Accounting of Differential Privacy via Characteristic Function},
  author = {Zhu, Yuqing and Dong, Jinshuo and Wang, Yu-Xiang},
  booktitle = {International Conference on Artificial Intelligence and Statistics (AISTATS)},
  year = {2022}
}"""
